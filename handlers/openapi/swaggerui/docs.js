// The pasted key stays in the page: nothing is stored, and no other server is contacted. docs.document.js
// changes the document, docs.snippets.js writes programs; this file has the rest of the page.

import { forPage } from "./docs.document.js";
import { languages } from "./docs.snippets.js";

const dark = matchMedia("(prefers-color-scheme: dark)");
const shade = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
shade();
dark.addEventListener("change", shade);

// excerpt returns the document with what Swagger UI wants to resolve: one operation and the components that
// it refers to, or only the security schemes; any other place needs the whole document.
const excerpt = (spec, [kind, path, method]) => {
  const components = { securitySchemes: spec.components.securitySchemes };
  if (kind === "components" && path === "securitySchemes") return { ...spec, paths: {}, webhooks: {}, components };
  if (!method) return spec;
  const add = (node) => {
    if (node === null || typeof node !== "object") return;
    const [, type, name] = typeof node.$ref === "string" ? node.$ref.match(/^#\/components\/(\w+)\/(.+)$/) || [] : [];
    if (type && !components[type]?.[name]) {
      components[type] = { ...components[type], [name]: spec.components[type][name] };
      add(components[type][name]);
    }
    Object.values(node).forEach(add);
  };
  const operation = spec[kind][path][method];
  add(operation);
  return { ...spec, paths: {}, webhooks: {}, [kind]: { [path]: { [method]: operation } }, components };
};

// keyPlaceholder stands for the key in programs, which people copy to places where a key must not be.
const keyPlaceholder = "YOUR_KEY";

// requestOf returns what Execute would send, with a placeholder for the key and names for missing ids; null
// until the operation's references are resolved.
const requestOf = ({ fn, specSelectors, oas3Selectors }, path, method) => {
  const operation = specSelectors.specResolvedSubtree(["paths", path, method])?.delete("responses").toJS();
  if (!operation) return null;
  const document = specSelectors.specJson();
  const body = oas3Selectors.requestBodyValue(path, method);
  const filled = (field) => field?.get?.("value") ?? "";
  const { url, headers, body: sent } = fn.buildRequest({
    spec: { openapi: document.get("openapi"), servers: document.get("servers").toJS(), paths: { [path]: { [method]: operation } } },
    operationId: operation.operationId,
    contextUrl: String(new URL(specSelectors.url(), window.document.baseURI)),
    server: oas3Selectors.selectedServer(),
    parameters: specSelectors.parameterValues([path, method]).map((value) => value ?? null).toJS(),
    requestBody: body?.toJS ? body.map(filled).filter((value) => value !== "").toJS() : body,
    requestContentType: oas3Selectors.requestContentType(path, method),
    responseContentType: oas3Selectors.responseContentType(path, method),
  });
  const request = { method: method.toUpperCase(), url: new URL(url), headers: {}, body: sent || undefined };
  const [scheme] = Object.keys((operation.security ?? document.get("security").toJS())[0]);
  const key = document.getIn(["components", "securitySchemes", scheme]);
  if (key.get("in") === "header") request.headers[key.get("name")] = keyPlaceholder;
  else request.url.searchParams.append(key.get("name"), keyPlaceholder);
  for (const [name, value] of Object.entries(headers)) {
    if (name !== "accept") request.headers[name] = value;
    else if (!["application/json", "*/*"].includes(value)) request.headers.Accept = value;
  }
  request.url = request.url.href.replace(/%7B(\w+)%7D/g, "{$1}");
  return request;
};

// changesSite reports whether a request writes and is no rehearsal.
const changesSite = ({ method, body }) => {
  if (method === "GET") return false;
  try {
    return JSON.parse(body).dry_run !== true;
  } catch {
    return new URLSearchParams(body).get("dry_run") !== "true";
  }
};

// matching keeps the operations that have all words of a search in their path, names or texts.
const matching = (tagged, search) => {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return tagged
    .map((tag, name) => tag.update("operations", (operations) => operations.filter((operation) => {
      const about = operation.get("operation");
      const parameters = about.get("parameters", []).map((parameter) => parameter.get("name"));
      const text = [name, operation.get("method"), operation.get("path"), about.get("summary"), about.get("description"), ...parameters].join(" ").toLowerCase();
      return words.every((word) => text.includes(word));
    })))
    .filter((tag) => tag.get("operations").size > 0);
};

let language = "curl"; // of the programs, for operations that are opened next

// Bookside's changes to Swagger UI.
const changes = ({ React, getSystem, fn: { resolveSubtree } }) => {
  const h = React.createElement;

  // BaseAddress chooses among the addresses at which the API is served.
  const BaseAddress = ({ specSelectors, oas3Selectors, oas3Actions }) => {
    const addresses = specSelectors.servers().map((server) => server.get("url")).toArray();
    const shown = (address) => new URL(address, document.baseURI).href;
    return h("label", { className: "docs-base" }, h("span", null, "Base address"), addresses.length === 1
      ? h("code", null, shown(addresses[0]))
      : h("select", { value: oas3Selectors.selectedServer() ?? addresses[0], onChange: (event) => oas3Actions.setSelectedServer(event.target.value) },
        addresses.map((address) => h("option", { key: address, value: address }, shown(address)))));
  };

  // Layout has everything above the operations in two lines, and the rest of the text behind links.
  const layout = (Original) => (props) => {
    const { getComponent, specSelectors, layoutSelectors, layoutActions } = props;
    const [webhooks, setWebhooks] = React.useState(/^#\/webhooks\/on[A-Z]/.test(location.hash));
    if (specSelectors.loadingStatus() !== "success" || !specSelectors.info()?.size) return h(Original, props);
    const show = (name) => h(getComponent(name, true));
    const search = layoutSelectors.currentFilter();
    const found = specSelectors.taggedOperations().size > 0;
    return h("div", { className: "swagger-ui" },
      h("header", { className: "wrapper docs-head" },
        h("h1", null, "Bookside API"),
        h("h2", { className: "docs-unseen" }, "Base address, key and search"),
        h(BaseAddress, props),
        show("AuthorizeBtnContainer"),
        h("input", {
          id: "docs-search", type: "search", value: search === true ? "" : search, "aria-label": "Search", "aria-keyshortcuts": "/",
          placeholder: "Search, for example free times", onChange: (event) => layoutActions.updateFilter(event.target.value),
        })),
      h("main", { className: "wrapper" },
        h("details", { className: "docs-about" },
          h("summary", null, "How to use the API: keys, pages, errors, limits"),
          h("p", null, "For programs: ", h("a", { href: "openapi.json" }, "openapi.json"), ", for generators of clients: ", h("a", { href: "openapi.json?for=clients" }, "openapi.json?for=clients"), "."),
          h(getComponent("Markdown", true), { source: specSelectors.info().get("description") })),
        show("errors"),
        h("h2", { className: "docs-unseen" }, "Operations"),
        found ? show("operations") : h("p", { role: "status" }, "No operation has all of these words."),
        h("details", { className: "docs-webhooks", open: webhooks, onToggle: (event) => setWebhooks(event.currentTarget.open) },
          h("summary", null, "Requests that are sent to webhooks"),
          webhooks && show("Webhooks"))));
  };

  // Snippets shows the request that is filled in as a program.
  const Snippets = ({ path, method }) => {
    const [chosen, choose] = React.useState(language);
    const [copied, setCopied] = React.useState("");
    const request = requestOf(getSystem(), path, method);
    if (!request) return null;
    const text = languages[chosen](request);
    return h("section", { className: "snippets", "aria-label": `${request.method} ${path} as a program` },
      h("div", { className: "snippets-bar" },
        Object.keys(languages).map((name) =>
          h("button", { type: "button", key: name, "aria-pressed": name === chosen, onClick: () => choose(language = name) }, name)),
        h("button", { type: "button", className: "snippets-copy", onClick: () => navigator.clipboard.writeText(text).then(() => setCopied(text)) }, copied === text ? "Copied" : "Copy")),
      h("pre", { tabIndex: 0 }, h("code", null, text)));
  };

  // Execute waits until the operation is resolved, and asks before a request changes the site.
  const execute = (Original) => (props) => {
    const [asked, ask] = React.useState("");
    const filled = () => requestOf(getSystem(), props.path, props.method);
    if (!filled()) return h(Original, { ...props, disabled: true });
    const confirm = (event) => {
      const request = filled();
      const change = JSON.stringify(request);
      const missing = request.url.includes("{"); // Swagger UI says what
      if (asked === change || missing || !changesSite(request)) return ask("");
      event.stopPropagation();
      ask(change);
    };
    return h("div", { className: asked && "execute-asked", onClickCapture: confirm },
      asked && h("p", { role: "alert" }, "This changes the site. Press ", h("em", null, "Execute"), " again to send it."),
      h(Original, props));
  };

  const responses = (Original) => (props) => {
    const shown = h(Original, props);
    return props.specPath.first() === "webhooks" ? shown : h(React.Fragment, null, h(Snippets, { path: props.path, method: props.method }), shown);
  };

  // Responses are opened one by one: with all of them, an operation is seven screens high.
  const response = (Original) => (props) => {
    const [open, setOpen] = React.useState(false);
    const about = props.response.get("description") || "";
    const row = h("tr", { className: "response-row", key: "row" },
      h("td", { className: "response-col_status" }, props.code),
      h("td", { className: "response-col_description", colSpan: 2 },
        h("button", { type: "button", className: "response-toggle", "aria-expanded": open, onClick: () => setOpen(!open) }, `${about} (${open ? "hide" : "show"} headers and body)`)));
    return open ? [row, h(Original, { ...props, key: "response" })] : row;
  };

  return {
    fn: {
      opsFilter: matching,
      // Swagger UI resolves the whole document when it starts and for each operation that is opened, which takes
      // a second each time.
      resolveSubtree: (spec, place, options) => resolveSubtree(excerpt(spec, place), place, options),
    },
    afterLoad() {
      const { getType } = this.fn.jsonSchema202012;
      Object.assign(this.fn.jsonSchema202012, { getType: (schema, ...more) => schema?.["x-words"] ?? getType(schema, ...more) });
    },
    wrapComponents: {
      BaseLayout: layout,
      execute,
      responses,
      response,
      // A link inside a button cannot be reached by keyboard.
      DeepLink: () => ({ text }) => h("span", null, text),
      // The key is entered once, above, and every operation can be tried at once.
      authorizeOperationBtn: () => () => null,
      TryItOutButton: () => () => null,
    },
    statePlugins: {
      spec: {
        wrapActions: {
          // Swagger UI would read the document as YAML, which takes much longer.
          parseToJson: (_, { specActions }) => (text) => specActions.updateJsonSpec(forPage(JSON.parse(text))),
        },
      },
      auth: {
        wrapActions: {
          // One way to send the key is enough here; the document has the others.
          showDefinitions: (original) => (definitions) =>
            original(definitions && definitions.filter((schemes) => schemes.has("apiKeyHeader"))),
        },
      },
    },
  };
};

// What Swagger UI leaves out for people who use a screen reader or a keyboard: the role of the dialog,
// names of fields and buttons, and a tab stop for what scrolls.
const page = document.getElementById("swagger-ui");
const complete = () => {
  for (const dialog of page.querySelectorAll(".modal-ux:not([role])")) {
    dialog.setAttribute("role", "dialog");
    dialog.setAttribute("aria-label", "Key");
  }
  for (const button of page.querySelectorAll("button.close-modal:not([aria-label])")) button.setAttribute("aria-label", "Close");
  for (const button of page.querySelectorAll(".auth-btn-wrapper button[aria-label]")) button.removeAttribute("aria-label");
  for (const field of page.querySelectorAll("select:not([aria-label]), input:not([aria-label]), textarea:not([aria-label])")) {
    const parameter = field.closest("[data-param-name]");
    const name = parameter ? parameter.dataset.paramName : field.placeholder || field.title;
    if (name) field.setAttribute("aria-label", name);
  }
  for (const table of page.querySelectorAll("table.responses-table[id]:not([aria-label])")) table.setAttribute("aria-label", "Responses of " + table.id);
  for (const example of page.querySelectorAll("select.examples-select-element:not([aria-label])")) example.setAttribute("aria-label", "Example");
  for (const text of page.querySelectorAll("textarea.body-param__text")) text.setAttribute("aria-label", "Request body");
  for (const text of page.querySelectorAll("pre.microlight:not([tabindex]), .highlight-code:not([tabindex])")) text.tabIndex = 0;
};
new MutationObserver(complete).observe(page, { childList: true, subtree: true });

window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  persistAuthorization: false,
  plugins: [changes],
  queryConfigEnabled: false,
  requestInterceptor: (request) => {
    // People who try requests here want to see every mistake.
    if (!request.loadSpec) request.headers.Prefer = "handling=strict";
    return request;
  },
  tryItOutEnabled: true,
  validatorUrl: null,
});

// The key / goes to the search, as on many sites.
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  event.preventDefault();
  document.getElementById("docs-search")?.focus();
});
