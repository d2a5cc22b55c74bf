// The page works without this, but for copying a new key.
"use strict";

const secret = document.getElementById("secret");
const button = document.getElementById("copy");
const said = document.getElementById("copied");

async function copy() {
  secret.select();
  try {
    await navigator.clipboard.writeText(secret.value);
    return true;
  } catch {
    // Without https the browser has no clipboard but for this.
    return document.execCommand("copy");
  }
}

// A text that stays the same is not read aloud again.
function say(text) {
  said.textContent = "";
  setTimeout(() => { said.textContent = text; }, 100);
}

if (button) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    if (await copy()) {
      button.focus();
      say("Copied.");
    } else {
      secret.select();
      say("The browser does not let this page copy. The key is selected: press Ctrl+C.");
    }
  });
}
