package jobs

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/bookside/bookside/adapter/domain"
)

// SecretPrefix begins every secret. Random bytes in base64 follow.
const SecretPrefix = "whsec_"

// secretBytes is the length of new secrets. Standard Webhooks allows 24 to 64.
const secretBytes = 32

func newSecret(random io.Reader) (string, error) {
	secret, err := domain.RandomBytes(random, secretBytes)
	return SecretPrefix + base64.StdEncoding.EncodeToString(secret), err
}

// MinSecretKey is the minimum length of a Vault's key, in characters.
const MinSecretKey = 32

// Vault encrypts secrets before they are stored. The zero value stores them in plain text.
type Vault struct{ sealer cipher.AEAD }

// NewVault returns a vault with a key of any form, such as the output of openssl rand -base64 32; "" stores
// secrets in plain text.
func NewVault(key string) (Vault, error) {
	switch {
	case key == "":
		return Vault{}, nil
	case len(key) < MinSecretKey:
		return Vault{}, fmt.Errorf("the key has fewer than %d characters", MinSecretKey)
	}
	derived, err := hkdf.Key(sha256.New, []byte(key), nil, "bookside webhook secrets", 32)
	if err != nil {
		return Vault{}, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return Vault{}, fmt.Errorf("use a key: %w", err)
	}
	sealer, err := cipher.NewGCM(block)
	if err != nil {
		return Vault{}, fmt.Errorf("use a key: %w", err)
	}
	return Vault{sealer}, nil
}

// sealedPrefix marks stored secrets that are encrypted, with AES-256-GCM.
const sealedPrefix = "gcm_"

var errSealed = errors.New("the secret cannot be decrypted: webhooks.secret_key is missing or not the one that it was stored with")

// seal returns a secret in its stored form; "" stays "".
func (v Vault) seal(random io.Reader, secret string) (string, error) {
	if v.sealer == nil || secret == "" {
		return secret, nil
	}
	nonce, err := domain.RandomBytes(random, v.sealer.NonceSize())
	if err != nil {
		return "", err
	}
	return sealedPrefix + base64.RawStdEncoding.EncodeToString(v.sealer.Seal(nonce, nonce, []byte(secret), nil)), nil
}

// open returns a stored secret, or errSealed. Plain-text secrets are returned as they are: they were stored
// before there was a key.
func (v Vault) open(stored string) (string, error) {
	sealed, ok := strings.CutPrefix(stored, sealedPrefix)
	if !ok {
		return stored, nil
	}
	if v.sealer == nil {
		return "", errSealed
	}
	content, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil || len(content) < v.sealer.NonceSize() {
		return "", errSealed
	}
	secret, err := v.sealer.Open(nil, content[:v.sealer.NonceSize()], content[v.sealer.NonceSize():], nil)
	if err != nil {
		return "", errSealed
	}
	return string(secret), nil
}
