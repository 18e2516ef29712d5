// Builds the page into the package. Refuses inline scripts, and names of files that don't change with what is in them.
import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vitest/config";

const hub = process.env.ROPEWALK_HUB ?? "http://127.0.0.1:7077";

export default defineConfig({
  plugins: [svelte()],
  base: "/",
  build: {
    outDir: process.env.ROPEWALK_PAGE ?? "../src/ropewalk/servers/web/built",
    emptyOutDir: true,
    assetsDir: "page",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    target: "es2022",
    license: false,
  },
  server: {
    port: 5173,
    host: "127.0.0.1",
    strictPort: true,
    // The hub takes nothing from another origin's page: while somebody develops, the page says it is the hub's own.
    proxy: { "/api": { target: hub, changeOrigin: true, ws: true, headers: { origin: hub } } },
  },
  test: { include: ["tests/**/*.test.ts"], environment: "node" },
});
