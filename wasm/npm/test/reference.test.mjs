// Everything that the package exports has a doc comment, and its links lead somewhere.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Application } from "typedoc";

test("every exported item has a doc comment", { timeout: 120_000 }, async () => {
  const said = [];
  const app = await Application.bootstrapWithPlugins({ options: join(fileURLToPath(new URL("..", import.meta.url)), "typedoc.json") });
  app.logger = Object.assign(app.logger, { addContext: (message) => { said.push(message); return message; }, log: (message) => said.push(message) });
  const project = await app.convert();
  app.validate(project);
  const { errorCount, warningCount, validationWarningCount } = app.logger;
  assert.deepEqual([errorCount, warningCount, validationWarningCount], [0, 0, 0], said.join("\n"));
  assert.ok(project.children.length === 5 && project.children.every(({ children }) => children.length > 0));
});
