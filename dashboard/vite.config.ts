import { fileURLToPath } from "node:url";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// A running Carrel, to which the development server passes on what it does not serve itself.
const server = process.env.CARREL_URL ?? "http://127.0.0.1:8787";

export default defineConfig(({ command }) => ({
  base: command === "build" ? "/static/" : "/",
  plugins: [react(), tailwindcss()],
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
  },
  server: {
    proxy: {
      "/api": { target: server },
      "/ws": { target: server, ws: true },
    },
  },
}));
