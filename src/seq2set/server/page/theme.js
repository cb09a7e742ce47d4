// Light or dark: as the system says, until somebody switches.

const KEY = "seq2set-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

/** Storage may be switched off in a browser; the page works without it. */
function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // The choice then holds until the page is left.
  }
}

const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";

function show() {
  document.getElementById("theme")?.setAttribute("aria-pressed", String(isDark()));
}

/** Make the button switch. */
export function startTheme() {
  document.getElementById("theme").addEventListener("click", () => {
    const theme = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    remember(theme);
    show();
  });
  system.addEventListener("change", show);
  show();
}

const chosen = remembered();
if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
