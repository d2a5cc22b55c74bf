// The pasted key stays in the page: nothing is stored, and no other server is
// contacted.

const dark = matchMedia("(prefers-color-scheme: dark)");
const shade = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
shade();
dark.addEventListener("change", shade);

// excerpt returns the document with one operation and the components that it refers to.
const excerpt = (spec, [kind, path, method]) => {
  const components = { securitySchemes: spec.components.securitySchemes };
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

// Bookside's changes to Swagger UI.
const changes = ({ React, fn: { resolveSubtree } }) => {
  const h = React.createElement;

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
      // Swagger UI resolves the whole document for each operation that is opened, which takes a second.
      resolveSubtree: (spec, place, options) =>
        resolveSubtree(place.length === 3 && ["paths", "webhooks"].includes(place[0]) ? excerpt(spec, place) : spec, place, options),
    },
    wrapComponents: {
      response,
      // A link inside a button cannot be reached by keyboard.
      DeepLink: () => ({ text }) => h("span", null, text),
    },
    statePlugins: {
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

// What Swagger UI leaves out for people who use a screen reader or a keyboard: landmarks, names
// of fields and buttons, and a tab stop for what scrolls.
const page = document.getElementById("swagger-ui");
const landmarks = {
  ".information-container": ["region", "About the API"],
  ".schemes-server-container": ["region", "Server and key"],
  ".filter-container": ["region", "Filter"],
  ".modal-ux": ["dialog", "Key"],
};
const complete = () => {
  for (const [selector, [role, name]] of Object.entries(landmarks)) {
    for (const element of page.querySelectorAll(selector + ":not([role])")) {
      element.setAttribute("role", role);
      element.setAttribute("aria-label", name);
    }
  }
  for (const button of page.querySelectorAll("button.close-modal:not([aria-label])")) button.setAttribute("aria-label", "Close");
  for (const button of page.querySelectorAll(".auth-btn-wrapper button[aria-label]")) button.removeAttribute("aria-label");
  for (const field of page.querySelectorAll("select:not([aria-label]), input:not([aria-label]), textarea:not([aria-label])")) {
    const parameter = field.closest("[data-param-name]");
    const name = parameter ? parameter.dataset.paramName : field.id === "servers" ? "Server" : field.placeholder || field.title;
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
