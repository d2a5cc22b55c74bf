// Only copying a new key needs this script.
"use strict";

const secret = document.getElementById("secret");
const button = document.getElementById("copy");
const message = document.getElementById("copied");

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
      say("Copied.");
    } else {
      secret.select();
      say("The browser does not allow this page to copy. The key is selected: press Ctrl+C.");
    }
  });
}
