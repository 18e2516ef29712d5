// The page begins: a code in the address signs in and leaves the address before anything is asked.
import { mount } from "svelte";
import App from "./App.svelte";
import "./look.css";
import { hub } from "./state/hub.svelte";
import { route } from "./state/route.svelte";
import { theme } from "./state/theme";

theme();
const code = location.pathname === "/signin" ? decodeURIComponent(location.hash.slice(1)) : "";
if (location.pathname === "/signin") history.replaceState(null, "", "/");
route.read();
mount(App, { target: document.getElementById("page")! });
if (code) void hub.signIn(code);
else void hub.begin();
