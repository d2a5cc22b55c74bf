// The pasted key stays in the page: nothing is stored, and no other server is contacted.

const dark = matchMedia("(prefers-color-scheme: dark)");
const shade = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
shade();
dark.addEventListener("change", shade);

window.ui = SwaggerUIBundle({
  spec: await (await fetch("openapi.json")).json(), // with its address, Swagger UI would read it as YAML, which is slow
  dom_id: "#swagger-ui",
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  displayRequestDuration: true,
  docExpansion: "list",
  filter: true,
  queryConfigEnabled: false,
  requestInterceptor: (request) => {
    request.headers.Prefer = "handling=strict"; // people who try requests here want to see every mistake
    return request;
  },
  tryItOutEnabled: true,
  validatorUrl: null,
});
