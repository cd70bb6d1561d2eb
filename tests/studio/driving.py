"""What a person does on the page of the studio, step by step."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

from playwright.sync_api import TimeoutError as TooLongError

_JOBS = """() => fetch("/api/study", {headers: {"X-Statveil-Token":
    document.querySelector('meta[name="statveil-token"]').content}}).then((one) => one.json())
    .then((study) => JSON.stringify(study.jobs))"""
AXE = resources.files("axe_playwright_python") / "axe.min.js"


class Page:
    """A tab, with all that it asked for and all that went wrong in it."""

    def __init__(self, context: Any, address: str) -> None:
        self.context, self.address = context, address
        self.asked: list[str] = []
        self.troubles: list[str] = []
        self.tab = context.new_page()
        context.on("request", lambda request: self.asked.append(request.url))
        self._watch(self.tab)

    def _watch(self, tab: Any) -> None:
        tab.on("dialog", self._dismiss)
        tab.on("pageerror", lambda error: self.troubles.append(str(error)))
        # what is refused by the server is an "error" to the browser's console; what a policy refuses is one to us
        tab.on("console", self._hear)

    def _dismiss(self, dialog: Any) -> None:
        self.troubles.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def _hear(self, said: Any) -> None:
        if said.type == "error" and "status of 4" not in said.text:
            self.troubles.append(said.text)

    def go(self) -> None:
        self.tab.goto(self.address)
        self.tab.wait_for_selector("#title")

    def second(self) -> Any:
        """Another tab of the same browser."""
        tab = self.context.new_page()
        self._watch(tab)
        tab.goto(self.address)
        tab.wait_for_selector("#title")
        return tab

    # --- step 1 --------------------------------------------------------------------------------------
    def upload(self, path: Path) -> None:
        """Choose a file; it is looked at by itself."""
        self.chooser()
        self.tab.set_input_files("#file", str(path))
        self.looked_at(path.name)

    def open(self, path: str) -> None:
        """Give a path."""
        self.chooser()
        self.tab.fill("#path", path)
        self.tab.click("#open")

    def looked_at(self, name: str) -> None:
        self.tab.wait_for_selector(f".facts :text-is('{name}')")
        self.tab.wait_for_selector(".proposal p")

    def chooser(self) -> None:
        """Unfold the choice of another table, where there is one already."""
        self.step("table")
        self.tab.wait_for_selector("#pick", state="attached")
        if not self.tab.is_visible("#pick"):
            self.tab.click(".another summary")

    def act(self, index: int, action: str) -> None:
        """What becomes of a column."""
        box = f"#action-{index}-{action}"
        if not self.tab.is_checked(box):
            with self.tab.expect_response(lambda one: "/api/columns/" in one.url):
                self.tab.check(box, force=True)
        self.tab.wait_for_selector(f".column-card[data-action={action}] {box}", state="attached")

    # --- steps ---------------------------------------------------------------------------------------
    def step(self, name: str) -> None:
        self.tab.click(f"#go-{name}")
        self.tab.wait_for_selector(f"#go-{name}[aria-current]")

    def secret(
        self, index: int, *, low: str, high: str, tolerance: str, share: bool = False, known_min: str = ""
    ) -> None:
        """What outsiders believe, and how close counts."""
        tab = self.tab
        tab.fill(f"#low-{index}", low)
        tab.fill(f"#high-{index}", high)
        tab.select_option(f"#tolerance-{index} + select", "share" if share else "units")
        if known_min:
            tab.fill(f"#min-{index}", known_min)
        tab.fill(f"#tolerance-{index}", tolerance)
        tab.press(f"#tolerance-{index}", "Tab")
        self.kept(index)

    def kept(self, index: int) -> None:
        """Until the server has what the panel shows."""
        self.tab.wait_for_selector(f".panel[data-saved=yes]:has(#panel-{index})")

    def freeze(self) -> None:
        self.step("tradeoff")
        self.tab.wait_for_selector(".here")
        # curves are still being refined, and what they add can move the button away under a click: one clicks again
        for _ in range(4):
            self.tab.click("#freeze")
            if self._appears("#stop-plan, #to-release"):
                break
        assert self._appears("#to-release", 90_000), (
            f"no plan: notice {self.tab.inner_text('#notice')!r}, jobs {self.tab.evaluate(_JOBS)}"
        )

    def _appears(self, selector: str, milliseconds: int = 10_000) -> bool:
        try:
            self.tab.wait_for_selector(selector, timeout=milliseconds)
        except TooLongError:
            return False
        return True

    def download(self, name: str, folder: Path) -> Path:
        with self.tab.expect_download() as awaited:
            self.tab.click(f"#download-{name}")
        target: Path = folder / awaited.value.suggested_filename
        awaited.value.save_as(target)
        return target

    # --- manners -------------------------------------------------------------------------------------
    def violations(self) -> list[str]:
        """What axe-core finds, light and dark; and whether one must scroll sideways on a telephone."""
        tab, found = self.tab, []
        if not tab.evaluate("'axe' in window"):
            tab.evaluate(AXE.read_text(encoding="utf-8"))
        for scheme in ("light", "dark"):
            tab.emulate_media(color_scheme=scheme)
            for one in tab.evaluate("axe.run()")["violations"]:
                found += [f"{scheme}: {one['id']} at {node['target']}" for node in one["nodes"]]
        tab.emulate_media(color_scheme="light")
        tab.set_viewport_size({"width": 375, "height": 800})
        width = tab.evaluate("document.documentElement.scrollWidth")
        if width > 375:
            found.append(f"{width} pixels wide on a screen of 375")
        tab.set_viewport_size({"width": 1280, "height": 900})
        return found
