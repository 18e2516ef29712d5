// Light, dark, or as the system has it; kept on this device.
const KEY = "theme";

export function theme(): void {
  const kept = localStorage.getItem(KEY);
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
  else delete document.documentElement.dataset.theme;
}

export function setTheme(wanted: "system" | "light" | "dark"): void {
  localStorage.setItem(KEY, wanted);
  theme();
}
