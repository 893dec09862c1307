import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

// A running Carrel, to which the development server passes on what it does not serve itself.
const server = process.env.CARREL_URL ?? "http://127.0.0.1:8787";

// A browser fetches a page in few files: what every page needs, what opens over pages, Markdown, and the page's own. Without
// these groups the bundler makes a file of everything that two pages share, and a cold load takes thirty requests. A group
// takes along what its files import, unless an earlier one has it.
const GROUPS = [
  { name: "app", test: /src\/(main|routes|data\/|ui\/(?!(dialog|menu|confirm|receipt|budgets|markdown|answers?|plot|shell\/(over|palette|shortcuts))\.)|pages\/[^/]+\/address|pages\/(runs|sessions)\/(data|why)\.)|node_modules\/(react|react-dom|@tanstack)\// },
  { name: "overlay", test: /src\/ui\/(dialog|menu|confirm|receipt|budgets)\.|node_modules\/(cmdk|@?radix-ui)\// },
  { name: "markdown", test: /src\/ui\/(markdown|answers?)\./ },
  { name: "task", test: /src\/pages\/task\// },
].map((group, i, all) => ({ ...group, priority: all.length - i }));

const ROUTE = /path: "([^"]+)".*import\("\.\/(pages\/[^"]+)"\)/g;

/** Write `preloads.json`: which files the page at an address needs besides those that index.html names. */
function preloads(): Plugin {
  return {
    name: "preloads",
    apply: "build",
    generateBundle(_options, bundle) {
      const chunks = Object.values(bundle).filter((each) => each.type === "chunk");
      const needed = (file: string): string[] => [file, ...(chunks.find((each) => each.fileName === file)?.imports ?? []).flatMap(needed)];
      const always = new Set(chunks.filter((each) => each.isEntry).flatMap((each) => needed(each.fileName)));
      const routes = readFileSync(new URL("src/routes.tsx", import.meta.url), "utf-8").matchAll(ROUTE);
      const pages = [...routes].map(([, path = "", module = ""]) => {
        const page = chunks.find((each) => each.moduleIds.some((id) => id.endsWith(`/src/${module}.tsx`)));
        if (page === undefined) throw new Error(`nothing was built for ${module}`);
        return [path, [...new Set(needed(page.fileName))].filter((file) => !always.has(file)).sort()];
      });
      this.emitFile({ type: "asset", fileName: "preloads.json", source: `${JSON.stringify(Object.fromEntries(pages), null, 1)}\n` });
    },
  };
}

export default defineConfig(({ command }) => ({
  base: command === "build" ? "/static/" : "/",
  plugins: [react(), tailwindcss(), preloads()],
  resolve: {
    alias: { "carrel-client": fileURLToPath(new URL("../clients/typescript/src/index.ts", import.meta.url)) },
    // The client finds what it needs among the dashboard's packages.
    dedupe: ["openapi-fetch"],
  },
  build: {
    outDir: "../src/carrel/surfaces/dashboard/static",
    emptyOutDir: true,
    // The content policy allows no data: addresses, and a preload script of Vite's would only serve old browsers.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    cssCodeSplit: false,
    target: "es2022",
    license: { fileName: "licences.md" },
    rolldownOptions: {
      output: {
        codeSplitting: { groups: GROUPS },
      },
    },
  },
  server: {
    proxy: {
      "/api": { target: server },
      "/ws": { target: server, ws: true },
    },
  },
}));
