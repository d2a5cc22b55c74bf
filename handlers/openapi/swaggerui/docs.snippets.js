// A request as programs in five languages, which need nothing besides what the language brings along. A
// request has method, url, headers and, if there is one, the text of its body.

// json returns the body as a value, or undefined if it is not JSON.
const json = ({ headers, body }) => {
  if (body === undefined || headers["Content-Type"] !== "application/json") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined; // sent as it is
  }
};

// literal writes a value in the syntax of a language.
const literal = (value, syntax, indent) => {
  const inner = indent + syntax.indent;
  const lines = (open, all, close) => all.length === 0 ? open + close : `${open}\n${all.map((line) => `${inner}${line},\n`).join("")}${indent}${close}`;
  if (Array.isArray(value)) return lines("[", value.map((one) => literal(one, syntax, inner)), "]");
  if (value !== null && typeof value === "object") {
    const names = Object.keys(value);
    const [open, close] = syntax.braces(names);
    return lines(open, names.map((name) => `${syntax.text(name)}${syntax.arrow}${literal(value[name], syntax, inner)}`), close);
  }
  return typeof value === "string" ? syntax.text(value) : syntax.words[String(value)] ?? String(value);
};

const javascript = { indent: "  ", arrow: ": ", braces: () => ["{", "}"], text: JSON.stringify, words: {} };
const python = { indent: "    ", arrow: ": ", braces: () => ["{", "}"], text: JSON.stringify, words: { true: "True", false: "False", null: "None" } };
const php = {
  indent: "    ",
  arrow: " => ",
  // Arrays with numbers for keys would be sent as lists.
  braces: (names) => [names.every((name) => /^\d+$/.test(name)) ? "(object) [" : "[", "]"],
  text: (value) => `'${value.replace(/[\\']/g, "\\$&")}'`,
  words: {},
};

const curl = ({ method, url, headers, body }) => {
  const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const options = Object.entries(headers).map(([name, value]) => `-H ${quote(`${name}: ${value}`)}`);
  if (method !== "GET") options.unshift(`-X ${method}`);
  if (body !== undefined) options.push(`--data-raw ${quote(body)}`);
  return [`curl ${quote(url)}`, ...options].join(" \\\n  ");
};

const typescript = (request) => {
  const { method, url, headers, body } = request;
  const value = json(request);
  const options = method === "GET" ? [] : [`method: ${JSON.stringify(method)},`];
  options.push(`headers: ${literal(headers, javascript, "  ")},`);
  if (value !== undefined) options.push(`body: JSON.stringify(${literal(value, javascript, "  ")}),`);
  else if (body !== undefined) options.push(`body: ${JSON.stringify(body)},`);
  return `const response = await fetch(${JSON.stringify(url)}, {
${options.map((option) => `  ${option}\n`).join("")}});
console.log(response.status, await response.text());`;
};

const go = (request) => {
  const { method, url, headers, body } = request;
  const value = json(request);
  const text = value === undefined ? body : JSON.stringify(value, null, "\t");
  const quoted = text?.includes("`") ? JSON.stringify(text) : `\`${text}\``;
  return `package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
${text === undefined ? "" : '\t"strings"\n'})

func main() {
	request, err := http.NewRequest(${JSON.stringify(method)}, ${JSON.stringify(url)}, ${text === undefined ? "nil" : `strings.NewReader(${quoted})`})
	if err != nil {
		log.Fatal(err)
	}
${Object.entries(headers).map(([name, text]) => `\trequest.Header.Set(${JSON.stringify(name)}, ${JSON.stringify(text)})\n`).join("")}	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.Status, string(body))
}`;
};

const pythonProgram = (request) => {
  const { method, url, headers, body } = request;
  const value = json(request);
  const data = value === undefined ? body && `data=${JSON.stringify(body)}.encode(),` : `data=json.dumps(${literal(value, python, "    ")}).encode(),`;
  return `${value === undefined ? "" : "import json\n"}import urllib.error
import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    method=${JSON.stringify(method)},
    headers=${literal(headers, python, "    ")},
${data ? `    ${data}\n` : ""})
try:
    response = urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    response = error
print(response.status, response.read().decode())`;
};

const phpProgram = (request) => {
  const { method, url, headers, body } = request;
  const value = json(request);
  const content = value === undefined ? body && php.text(body) : `json_encode(${literal(value, php, "        ")})`;
  return `<?php
$context = stream_context_create([
    'http' => [
        'method' => ${php.text(method)},
        'header' => ${literal(Object.entries(headers).map(([name, text]) => `${name}: ${text}`), php, "        ")},
${content ? `        'content' => ${content},\n` : ""}        'ignore_errors' => true,
    ],
]);
$body = file_get_contents(${php.text(url)}, false, $context);
echo $http_response_header[0], ' ', $body, "\\n";`;
};

// languages are functions from a request to a program, by name.
export const languages = { curl, TypeScript: typescript, Go: go, Python: pythonProgram, PHP: phpProgram };
