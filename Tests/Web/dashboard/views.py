"""What must hold of every view of any server: it is accessible, fits, and shows only what it knows.
"""

import pathlib
import re

import axe_playwright_python

AXE = (pathlib.Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDTHS = {1280: 900, 380: 800}
MAXIMUM_BYTES = 100 * 1024
MAXIMUM_FIRST_PAINT_BYTES = 70 * 1024
# What a program shows where it has no number.
NO_NUMBER = re.compile(r"\b(NaN|undefined|null|Infinity|Invalid Date)\b|\[object")


class Failure(Exception):
    """What is wrong, in a sentence."""


def expect(holds, sentence):
    if not holds:
        raise Failure(sentence)


class Watch:
    """What a page asks and complains about."""

    def __init__(self, page, url):
        self.page = page
        self.url = url
        self.errors = []
        self.foreign = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", self._asked)

    def _said(self, message):
        # Chromium itself reports each refusal and each lost connection.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _asked(self, request):
        if not request.url.startswith(self.url + "/"):
            self.foreign.append(request.url)

    def check(self):
        expect(not self.errors, f"the page complains: {self.errors[:3]}")
        expect(not self.foreign, f"the page asks elsewhere: {self.foreign[:3]}")


def check_accessible(page, what):
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(AXE)
    result = page.evaluate(
        "rules => axe.run(document, {runOnly: {type: 'tag', values: rules}})", RULES)
    found = [f"{each['id']}: {each['nodes'][0]['html'][:160]} "
             f"({each['nodes'][0]['failureSummary'][:200]})" for each in result["violations"]]
    expect(not found, f"{what} is not accessible: {found}")
    expect(len(result["passes"]) > 10, f"{what}: axe found nothing to look at")


def check_fits(page, what):
    needed, there = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    expect(needed <= there, f"{what} is {needed} px wide, the window {there}")


def check_numbers(page, what):
    text = page.inner_text("body")
    found = NO_NUMBER.search(text)
    expect(found is None, f"{what} shows “{found and found.group()}”")


def settle(page):
    """Waits until a view shows its data."""
    page.wait_for_function(
        "() => !/^(Reading|Loading|Looking)/m.test(document.getElementById('main').innerText)")


def check_view(page, url, hash_, what):
    page.goto(f"{url}/{hash_}")
    settle(page)
    # A page that only asks for a key would pass all the rest.
    page.wait_for_function(
        "() => ['live', 'asked'].includes(document.body.className)", timeout=10_000)
    expect(not page.locator("dialog").is_visible(), f"{what} asks for a key")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    check_accessible(page, what)
    check_fits(page, what)
    check_numbers(page, what)


def check_views(browser, url, key, hashes, pictures):
    """Every view, in light and dark, on a phone and on a desk."""
    for scheme in ("light", "dark"):
        for width, height in WIDTHS.items():
            context = browser.new_context(
                viewport={"width": width, "height": height}, color_scheme=scheme)
            context.add_init_script(f"sessionStorage.setItem('fanfare-key', {key!r})")
            page = context.new_page()
            watch = Watch(page, url)
            for name, hash_ in hashes.items():
                check_view(page, url, hash_, f"{name} at {width} px, {scheme}")
                if pictures:
                    page.screenshot(path=pictures / f"{name}-{width}-{scheme}.png", full_page=True)
            watch.check()
            context.close()


def check_size(browser, url):
    """The bytes of the page's files: until the first paint, and all of them."""
    context = browser.new_context()
    page = context.new_page()
    sizes = {}

    def received(response):
        if "/v1/" not in response.url and response.url.rsplit("/", 1)[-1] != "config":
            sizes[response.url] = len(response.body())
    page.on("response", received)
    page.goto(url + "/")
    page.wait_for_load_state("networkidle")
    first = sum(size for name, size in sizes.items() if not any(
        name.endswith(each) for each in ("/fanout.js", "/user.js", "/letters.js", "/health.js",
                                         "/templates.js")))
    context.close()
    expect(len(sizes) > 10, f"only {len(sizes)} files were read")
    expect(first <= MAXIMUM_FIRST_PAINT_BYTES, f"the first paint takes {first} bytes")
    expect(sum(sizes.values()) <= MAXIMUM_BYTES, f"all files take {sum(sizes.values())} bytes")
