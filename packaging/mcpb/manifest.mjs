// Prints the manifest of the bundle. Usage: node manifest.mjs EYELET VERSION REPOSITORY AUTHOR DESCRIPTION
import { execFileSync } from "node:child_process";

const [eyelet, version, repository, author, description] = process.argv.slice(2);
const definitions = JSON.parse(execFileSync(eyelet, ["tools", "--format", "mcp"], { encoding: "utf8" }));

const manifest = {
  manifest_version: "0.3",
  name: "eyelet",
  display_name: "eyelet",
  version,
  description,
  long_description:
    "eyelet gives AI agents six tools: list a directory, find files, search their contents, read a file, run a " +
    "command, and manage background jobs. Replies are limited in size and say how to continue. The tools reach only " +
    "the directory that you choose, and commands run in a sandbox without network.",
  author: { name: author },
  repository: { type: "git", url: repository },
  homepage: repository,
  license: "MIT OR Apache-2.0",
  keywords: ["files", "search", "shell", "sandbox"],
  server: {
    type: "binary",
    entry_point: "server/eyelet",
    mcp_config: {
      command: "${__dirname}/server/eyelet",
      args: ["mcp", "--root", "${user_config.root}"],
    },
  },
  tools: definitions.map(({ name, title }) => ({ name, description: title })),
  user_config: {
    root: {
      type: "directory",
      title: "Root directory",
      description: "The tools can access files only in this directory, and commands can write to it.",
      required: true,
    },
  },
  compatibility: { platforms: ["linux"] },
};
console.log(JSON.stringify(manifest, null, 2));
