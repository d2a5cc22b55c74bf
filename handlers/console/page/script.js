// Copies a new key, searches long lists, and listens for shortcuts. Everything else works without it.
"use strict";

const frame = document.getElementById("bookside"); // in wp-admin
const page = frame ? frame.shadowRoot : document;
const secret = page.getElementById("secret");
const button = page.getElementById("copy");
const message = page.getElementById("copied");
const texts = document.currentScript.dataset;

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

// Shortcuts: / searches, g and the data-key of a link in the navigation leads there, ? lists them.
const links = [...page.querySelectorAll("nav a[data-key]")];
const search = page.getElementById("search");
let going = 0; // until when a key after g counts

function list() {
  if (document.querySelector("dialog")) {
    return;
  }
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-labelledby", "shortcuts");
  const title = document.createElement("h2");
  title.id = "shortcuts";
  title.textContent = texts.shortcuts;
  const all = document.createElement("dl");
  const add = (keys, text) => {
    const term = document.createElement("dt");
    for (const key of keys) {
      term.append(Object.assign(document.createElement("kbd"), { textContent: key }), " ");
    }
    all.append(term, Object.assign(document.createElement("dd"), { textContent: text }));
  };
  add("/", texts.search);
  links.forEach(link => add(["g", link.dataset.key], link.textContent));
  add("?", texts.list);
  const form = document.createElement("form");
  form.method = "dialog";
  form.append(Object.assign(document.createElement("button"), { textContent: texts.close }));
  dialog.append(title, all, form);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("keydown", event => {
  if (!search || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog")) {
    return;
  }
  const link = Date.now() < going && links.find(link => link.dataset.key === event.key);
  going = 0;
  if (link) {
    link.click();
  } else if (event.key === "g") {
    going = Date.now() + 1500;
  } else if (event.key === "/") {
    event.preventDefault(); // browsers search the page
    search.focus();
  } else if (event.key === "?") {
    list();
  }
});
