// The document as the page shows it: the same data, in the order in which people need it, with examples
// that change nothing on the site.

// forPage changes a document and returns it.
export const forPage = (document) => {
  for (const operation of Object.values(document.paths).flatMap(Object.values)) {
    for (const parameter of operation.parameters ?? []) {
      if (parameter.in === "path") delete parameter.example; // a click must not hit a record by chance
      describe(parameter.name, parameter.schema);
    }
    operation.parameters?.sort((a, b) => rank(a) - rank(b));
    if (operation.requestBody) rehearse(document, operation.requestBody.content);
  }
  for (const schema of Object.values(document.components.schemas)) describe("", schema);
  return document;
};

// rank sorts parameters: those without which a request fails come first.
const rank = (parameter) => {
  if (parameter.required) return 0;
  if (parameter.example !== undefined) return 1;
  return parameter.in === "header" ? 3 : 2;
};

// rehearse makes examples of bodies rehearsals, where the operation has them.
const rehearse = (document, content) => {
  delete content["multipart/form-data"]; // says the same as a URL-encoded form
  for (const media of Object.values(content)) {
    const { dry_run: dryRun } = document.components.schemas[media.schema.$ref.split("/").pop()].properties;
    if (!dryRun) continue;
    media.example = { dry_run: true, ...media.example };
    media.example.dry_run = true;
    dryRun.examples = [true]; // forms are filled in from the fields
  }
};

// describe adds the type in words to a schema and to all below it, as "x-words".
const describe = (name, schema) => {
  const type = words(name, schema);
  if (type) schema["x-words"] = type;
  for (const [property, below] of Object.entries(schema.properties ?? {})) describe(property, below);
  if (schema.items) describe(name.replace(/s$/, ""), schema.items);
  for (const one of schema.anyOf ?? []) describe(name, one);
};

const words = (name, schema) => {
  if (schema.anyOf) {
    const kinds = schema.anyOf.filter((one) => one.const !== -1); // -1 is another word for any
    return list([...new Set(kinds.map((one) => words(name, one) ?? "object"))]);
  }
  if (schema.enum) {
    const values = schema.enum.filter((value) => value !== "-1");
    return values.length > 4 ? `one of ${values.length} words` : list(values);
  }
  if (Array.isArray(schema.type)) return list(schema.type.map((type) => words(name, { ...schema, type })));
  switch (schema.type) {
    case "integer": return /(^|_)id$/.test(name) ? "id" : "integer";
    case "boolean": return "true or false";
    case "string": return { date: "date", "date-time": "date and time", email: "email address", uri: "URL" }[schema.format] ?? "text";
    case "array": {
      const of = words(name.replace(/s$/, ""), schema.items ?? {}) ?? "object";
      return schema.items?.enum ? `list of ${of}` : `list of ${of}s`;
    }
    default: return schema.type;
  }
};

const list = (values) => values.length < 2 ? values.join("") : `${values.slice(0, -1).join(", ")} or ${values.at(-1)}`;
