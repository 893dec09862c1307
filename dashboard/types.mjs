// Writes the types of our own API: reads the OpenAPI document from standard input, writes TypeScript to standard output.
// The document also describes A2A, tools and Open Responses, which have clients of their own, and repeats its errors
// for every operation, which the client knows; both are left out.

import openapiTypescript, { astToString } from "openapi-typescript";

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const document = JSON.parse(Buffer.concat(chunks).toString());

for (const [path, operations] of Object.entries(document.paths)) {
  if (!path.startsWith("/api/")) delete document.paths[path];
  for (const operation of Object.values(operations)) {
    for (const status of Object.keys(operation.responses ?? {})) if (status >= "300") delete operation.responses[status];
  }
}
removeUnused(document);
// A body may leave out what has a default.
const types = await openapiTypescript(document, { defaultNonNullable: false });
process.stdout.write(`// Made by \`./dev dashboard types\`; do not edit.\n\n${astToString(types)}`);

/** Remove the components that nothing refers to any more. */
function removeUnused({ paths, components }) {
  const used = new Set();
  const collect = (value) => {
    for (const [, kind, name] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      if (used.has(`${kind}/${name}`)) continue;
      used.add(`${kind}/${name}`);
      collect(components[kind][name]);
    }
  };
  collect(paths);
  for (const [kind, all] of Object.entries(components)) {
    if (kind === "securitySchemes") continue;
    for (const name of Object.keys(all)) if (!used.has(`${kind}/${name}`)) delete all[name];
  }
}
