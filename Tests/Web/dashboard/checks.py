"""Runs the checks: those of scenarios.py against the mock server, or those of views.py alone
against a real one."""

import argparse
import os
import pathlib
import sys
import time

from playwright.sync_api import Error, sync_playwright

import scenarios
import views
from mock import Mock

HASHES = {"fanouts": "#/fanouts", "user": "#/user", "letters": "#/letters", "health": "#/health",
          "templates": "#/templates"}
MOCK_HASHES = {**HASHES, "fanout": "#/fanouts/live-pause", "finished": "#/fanouts/live-lost",
               "trace": "#/user?user=u1&event=live-8f2c", "letter": "#/letters/1:1",
               "rendered": "#/templates?user=u1"}


def real(browser, options):
    """The checks that change nothing of a real server."""
    def look():
        hashes = dict(HASHES)
        page = browser.new_page()
        page.add_init_script(f"sessionStorage.setItem('fanfare-key', {options.key!r})")
        page.goto(options.url + "/")
        page.wait_for_selector("#main table, #main .notice, #notices .notice.bad")
        link = page.query_selector("#main a[data-row]")
        if link:
            hashes["fanout"] = link.get_attribute("href")
        page.close()
        views.check_views(browser, options.url, options.key, hashes, options.pictures)
    return {"size": lambda: views.check_size(browser, options.url), "every view": look}


def mocked(browser, options):
    """Each scenario, with a deployment of its own."""
    def whole(scenario):
        def run():
            mock = Mock()
            mock.start()
            try:
                scenario(browser, mock)
            finally:
                if not mock.server.ended.is_set():
                    mock.stop()
        return run

    def look(browser_, mock):
        mock.alerts = [{"what": "Credentials refused for com.example.live", "since_ms": 1,
                        "runbook": "docs/operations.md#credentials-that-apple-refuses"}]
        views.check_views(browser_, mock.url, "ffk_admin", MOCK_HASHES, options.pictures)
    found = {name.replace("_", " "): whole(getattr(scenarios, name))
             for name in vars(scenarios) if name.startswith("the_")}
    return {"size": whole(lambda browser_, mock: views.check_size(browser_, mock.url)),
            **found, "every view": whole(look)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--browser", required=True)
    parser.add_argument("--url", type=lambda text: text.rstrip("/"))
    parser.add_argument("--only", default="")
    parser.add_argument("--pictures", type=pathlib.Path)
    options = parser.parse_args()
    options.key = os.environ.get("FANFARE_KEY", "")
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    failures = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=options.browser, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        checks = real(browser, options) if options.url else mocked(browser, options)
        for name, check in checks.items():
            if options.only not in name:
                continue
            begun = time.monotonic()
            try:
                check()
                result = "ok"
            except (views.Failure, Error, AssertionError) as error:
                failures += 1
                result = f"FAILED: {error}"
            print(f"{name} ({time.monotonic() - begun:.1f} s): {result}", flush=True)
        browser.close()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
