// Copies a new key and searches long lists. Everything else works without it.
"use strict";

(() => {
  const frame = document.getElementById("bookside"); // in wp-admin
  const page = frame ? frame.shadowRoot : document;
  const secret = page.getElementById("secret");
  const button = page.getElementById("copy");
  const message = page.getElementById("copied");

  async function copy() {
    secret.select();
    try {
      await navigator.clipboard.writeText(secret.value);
      return true;
    } catch {
      // Without https, browsers offer only this.
      return document.execCommand("copy");
    }
  }

  // Screen readers do not repeat an unchanged text.
  function say(text) {
    message.textContent = "";
    setTimeout(() => { message.textContent = text; }, 100);
  }

  if (button) {
    button.hidden = false;
    button.addEventListener("click", async () => {
      if (await copy()) {
        button.focus();
        say(message.dataset.copied);
      } else {
        secret.select();
        say(message.dataset.selected);
      }
    });
  }

  // Browsers do not follow links to parts of a shadow root.
  if (frame) {
    page.addEventListener("click", event => {
      const link = event.target.closest("a[href^='#']");
      const target = link && page.getElementById(link.hash.slice(1));
      if (target) {
        event.preventDefault();
        target.scrollIntoView();
        target.focus();
      }
    });
  }

  // The search above a long list hides what it does not find, except what is chosen. Ticking "all" clears the others, and they clear it.
  for (const fieldset of page.querySelectorAll("fieldset")) {
    const options = [...fieldset.querySelectorAll(".choices label")];
    const find = fieldset.querySelector("[type=search]");
    const all = fieldset.querySelector("[type=checkbox][value='']");
    if (find) {
      find.hidden = false;
      const plain = text => text.trim().toLowerCase().normalize("NFD").replace(/\p{M}/gu, ""); // "jorg" finds Jörg
      find.addEventListener("input", () => {
        options.forEach(option => { option.hidden = !option.control.checked && !plain(option.textContent).includes(plain(find.value)); });
      });
    }
    if (all) {
      fieldset.addEventListener("change", ({ target }) => {
        if (target.checked) {
          options.map(option => option.control).filter(box => (box === all) !== (target === all)).forEach(box => { box.checked = false; });
        }
      });
    }
  }
})();
