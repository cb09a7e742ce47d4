// Tabs as the ARIA practices have them: arrows, Home and End move; the address remembers the tab.

const tabs = [...document.querySelectorAll("[role=tab]")];
const nameOf = (tab) => tab.id.replace("tab-", "");

/** Show one tab's panel. */
export function showTab(name) {
  for (const tab of tabs) {
    const chosen = nameOf(tab) === name;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
    document.getElementById(tab.getAttribute("aria-controls")).hidden = !chosen;
  }
  if (location.hash.slice(1) !== name) history.replaceState(null, "", `#${name}`);
}

function move(event) {
  const place = tabs.indexOf(event.currentTarget);
  const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: tabs.length - 1 }[event.key];
  if (to === undefined) return;
  event.preventDefault();
  const tab = tabs.at(to % tabs.length);
  tab.focus();
  showTab(nameOf(tab));
}

/** Make the tabs work, and open the one that the address names. */
export function startTabs() {
  for (const tab of tabs) {
    tab.addEventListener("click", () => showTab(nameOf(tab)));
    tab.addEventListener("keydown", move);
  }
  const named = () => tabs.find((tab) => nameOf(tab) === location.hash.slice(1));
  addEventListener("hashchange", () => named() && showTab(nameOf(named())));
  showTab(nameOf(named() ?? tabs[0]));
}
