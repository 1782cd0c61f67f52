"""What examples/web must do, step by step, in a browser. Started by `run`."""

import argparse
import base64
import contextlib
import json
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec

import chromium
from chromium import Failure
from desktop import Desktop
from pages import NEXT_VAPID_KEY, Page, Site, expect, until
from push_service import PushService
from services import Fanfare

SECONDS = 120
USER = "Ken Ōta/7"
PREFIX = f"/v1/users/{urllib.parse.quote(USER, safe='')}/devices/webpush/"


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encrypt(subscription, plaintext):
    """By http-ece, as RFC 8291 has it."""
    keys = {name: decoded(key) for name, key in subscription["keys"].items()}
    return http_ece.encrypt(
        plaintext, salt=os.urandom(16), private_key=ec.generate_private_key(ec.SECP256R1()),
        dh=keys["p256dh"], auth_secret=keys["auth"], version="aes128gcm")


def encrypt_by(command, subscription, plaintext):
    """By a program: {"subscription", "plaintext"} as JSON in, the body in base64 out."""
    question = json.dumps({"subscription": subscription, "plaintext": plaintext.decode()})
    ended = subprocess.run(
        shlex.split(command), input=question, capture_output=True, text=True, timeout=30)
    expect(ended.returncode == 0, f"{command}: {ended.stderr[-500:]}")
    return base64.b64decode(ended.stdout)


class Scenario:
    def __init__(self, site, page, fanfare, push_service, desktop, encryptors):
        self.site = site
        self.page = page
        self.fanfare = fanfare
        self.push_service = push_service
        self.desktop = desktop
        # By name: what encrypts a message for a subscription.
        self.encryptors = encryptors

    def take(self, *methods):
        """What Fanfare was asked, by method and endpoint."""
        requests = self.fanfare.take(len(methods))
        for method, path, headers, body in requests:
            expect(headers.get("Authorization") == "Bearer ffk_secret", f"{path}: no key")
            expect(path.startswith(PREFIX) and "/" not in path[len(PREFIX):], f"path {path}")
            if method == "PUT":
                self.check(json.loads(body))
            else:
                expect(not body, f"{method} has a body")
        got = [(method, urllib.parse.unquote(path[len(PREFIX):]))
               for method, path, _, _ in requests]
        expect(sorted(method for method, _ in got) == sorted(methods),
               f"Fanfare was asked {got}, not {methods}")
        return dict(got)

    @staticmethod
    def check(body):
        keys = {name: len(decoded(key)) for name, key in body.pop("keys").items()}
        expect(keys == {"p256dh": 65, "auth": 16}, f"keys of {keys} bytes")
        expect(body == {"topic": "com.example.live", "vapid_key": "main"}, f"body {body}")

    # The steps, in their order.

    def strangers_are_refused(self):
        expect(self.site.post("subscribe") == 401, "a subscription without log-in is taken")
        expect(self.site.post("subscribe", "text/plain") == 415, "a form of another site is taken")

    def a_refused_permission_is_told(self):
        self.page.permit("denied")
        self.page.run(f"document.getElementById('user').value = {json.dumps(USER)}")
        self.page.run("document.getElementById('login').requestSubmit()")
        self.page.says("settings forbid")
        expect(not self.page.is_shown("enable"), "the button asks for what is forbidden")

    def a_push_service_that_refuses_is_told(self):
        self.push_service.refuses = True
        self.page.permit("prompt")
        self.page.reload()
        until("the button", lambda: self.page.is_shown("enable"))
        self.page.permit("granted")
        self.page.click("enable")
        self.page.says("cannot be had at the moment")
        expect(self.page.endpoint() is None, "there is a subscription")
        self.push_service.refuses = False

    def the_subscription_is_sent(self):
        self.page.reload()
        self.page.says("You are told")
        endpoint = self.take("PUT")["PUT"]
        expect(endpoint.startswith("https://") and endpoint == self.page.endpoint(),
               f"the endpoint {endpoint}")

    def it_is_sent_again_at_each_load(self):
        self.page.reload()
        self.page.says("You are told")
        expect(self.take("PUT")["PUT"] == self.page.endpoint(), "another endpoint")

    def another_vapid_key_makes_another_subscription(self):
        old = self.page.endpoint()
        answer = json.dumps({"publicKey": NEXT_VAPID_KEY, "id": "next"})
        script = self.page.browser.command(
            "Page.addScriptToEvaluateOnNewDocument", self.page.session,
            source="const real = window.fetch; window.fetch = (path, ...rest) => path === '/vapid'"
                   f" ? Promise.resolve(new Response('{answer}')) : real(path, ...rest);")
        self.page.reload()
        self.page.says("You are told")
        asked = self.take("DELETE", "PUT")
        expect(asked == {"DELETE": old, "PUT": self.page.endpoint()}, f"asked: {asked}")
        expect(old != self.page.endpoint(), "the subscription is the old one")
        self.page.browser.command("Page.removeScriptToEvaluateOnNewDocument", self.page.session,
                                  identifier=script["identifier"])
        # And back, as the next steps have it.
        self.page.reload()
        self.page.says("You are told")
        self.take("DELETE", "PUT")

    def a_declarative_push_is_shown(self):
        self.page.push({"web_push": 8030, "notification": {
            "title": "Aikoがライブ配信中", "body": "Speedrun",
            "navigate": self.site.url + "s42", "lang": "ja", "tag": "live-s42", "data": {"stream": {"id": "b-991"}},
            "actions": [{"action": "rules", "title": "Rules",
                         "navigate": self.site.url + "rules"}]}})
        expect(self.desktop.wait("Aikoがライブ配信中"), "the desktop shows nothing")
        shown = self.page.notifications()
        expect(len(shown) == 1, f"shown: {shown}")
        expect((shown[0]["body"], shown[0]["tag"], shown[0]["lang"])
               == ("Speedrun", "live-s42", "ja"), f"shown: {shown}")
        expect(shown[0]["data"]["own"] == {"stream": {"id": "b-991"}}, f"shown: {shown}")

    def the_same_without_its_number_replaces_it(self):
        self.page.push({"notification": {
            "title": "Aiko plays on", "navigate": self.site.url + "s42", "tag": "live-s42",
            "renotify": True, "actions": [{"action": "rules", "title": "Rules",
                                           "navigate": self.site.url + "rules"}]}})
        expect(self.desktop.wait("Aiko plays on"), "the desktop shows nothing")
        shown = [one["title"] for one in self.page.notifications()]
        expect(shown == ["Aiko plays on"], f"shown: {shown}")

    def a_click_opens_the_stream(self):
        self.desktop.click(self.desktop.wait("Aiko plays on"))
        until("a tab with the stream",
              lambda: self.page.tabs() == [self.site.url, self.site.url + "s42"])
        until("the notification is closed", lambda: self.page.notifications() == [])
        # The new tab is a page load, too.
        self.take("PUT")

    def a_click_focuses_the_open_tab(self):
        expect(self.page.run("document.visibilityState") == "hidden", "the first tab is in front")
        self.page.push({"notification": {"title": "Home", "navigate": "/"}})
        number = self.desktop.wait("Home")
        expect(number, "the desktop shows nothing")
        self.desktop.click(number)
        until("the first tab in front",
              lambda: self.page.run("document.visibilityState") == "visible")
        expect(len(self.page.tabs()) == 2, f"tabs: {self.page.tabs()}")

    def an_action_opens_its_own_page(self):
        self.page.push({"notification": {
            "title": "With a button", "navigate": self.site.url, "actions": [
                {"action": "rules", "title": "Rules", "navigate": self.site.url + "rules"}]}})
        number = self.desktop.wait("With a button")
        expect(number, "the desktop shows nothing")
        self.desktop.click(number, self.desktop.action(number, "Rules"))
        until("a tab with the rules", lambda: self.site.url + "rules" in self.page.tabs())
        self.take("PUT")

    def what_cannot_be_read_is_shown(self):
        for message in ("no JSON", "[1]", "null", '{"notification":{"title":7,"actions":[{}]}}'):
            self.page.push(message)
            number = self.desktop.wait("There is something new")
            expect(number, f"nothing is shown of {message}")
            self.desktop.click(number)
            until("it is closed", lambda: self.page.notifications() == [])

    def an_encrypted_push_is_shown(self):
        subscription = self.page.subscription()
        stranger = {**subscription, "keys": {
            **subscription["keys"], "auth": "AAAAAAAAAAAAAAAAAAAAAA"}}
        for name, encryptor in self.encryptors.items():
            for title, owner in (("Not for you", stranger), (f"Secret of {name}", subscription)):
                message = json.dumps({"notification": {"title": title, "body": "ライブ" * 200}})
                expect(self.push_service.deliver(
                    subscription["endpoint"], encryptor(owner, message.encode())),
                    "the browser has no connection to its push service")
            expect(self.desktop.wait(f"Secret of {name}"), f"{name}: the browser shows nothing")
            # It came first.
            expect(not self.desktop.wait("Not for you", 0), f"{name}: another's push is shown")

    def a_lost_subscription_is_replaced(self):
        old = self.page.endpoint()
        self.page.push({"notification": {"title": "Awake"}})
        expect(self.desktop.wait("Awake"), "the desktop shows nothing")
        self.page.change_subscription("""
          const oldSubscription = await registration.pushManager.getSubscription();
          await oldSubscription.unsubscribe();
          return { oldSubscription };""")
        asked = self.take("DELETE", "PUT")
        expect(asked == {"DELETE": old, "PUT": self.page.endpoint()}, f"asked: {asked}")
        expect(old != self.page.endpoint(), "the subscription is the old one")

    def a_subscription_that_the_browser_renewed_is_sent(self):
        old = self.page.endpoint()
        self.page.change_subscription("""
          const oldSubscription = await registration.pushManager.getSubscription();
          const { applicationServerKey } = oldSubscription.options;
          await oldSubscription.unsubscribe();
          const newSubscription = await registration.pushManager.subscribe(
            { userVisibleOnly: true, applicationServerKey });
          return { oldSubscription, newSubscription };""")
        asked = self.take("DELETE", "PUT")
        expect(asked == {"DELETE": old, "PUT": self.page.endpoint()}, f"asked: {asked}")
        expect(old != self.page.endpoint(), "the subscription is the old one")

    def a_change_that_names_no_subscription_makes_one_with_the_current_key(self):
        self.page.change_subscription("""
          await (await registration.pushManager.getSubscription()).unsubscribe();
          return {};""")
        endpoint = self.take("PUT")["PUT"]
        expect(endpoint == self.page.endpoint(), f"the endpoint {endpoint}")

    def a_log_out_ends_it(self):
        endpoint = self.page.endpoint()
        self.page.click("logout")
        until("the form", lambda: self.page.is_shown("login"))
        expect(self.take("DELETE") == {"DELETE": endpoint}, "another endpoint is forgotten")
        expect(self.page.endpoint() is None, "the browser is still subscribed")
        self.page.reload()
        expect(self.page.is_shown("login") and not self.page.is_shown("logout"), "still logged in")
        self.take()

    def run(self, is_verbose):
        steps = [name for name, step in vars(Scenario).items()
                 if callable(step) and name not in ("__init__", "take", "check", "run")]
        for name in steps:
            started = time.monotonic()
            try:
                getattr(self, name)()
            except Failure as failure:
                raise Failure(f"{name}: {failure}") from None
            if is_verbose:
                print(f"{time.monotonic() - started:6.2f} s  {name}")
        return len(steps)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--encrypt", metavar="COMMAND")
    flags = parser.parse_args()
    encryptors = {"http-ece": encrypt}
    if flags.encrypt:
        encryptors["the command"] = lambda *message: encrypt_by(flags.encrypt, *message)

    # Whatever hangs: SIGALRM ends it, and the browser with it.
    def late(*_):
        raise Failure(f"it takes more than {SECONDS} s")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    with contextlib.ExitStack() as stack:
        def keep(thing):
            stack.callback(thing.stop)
            return thing
        profile = stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
        try:
            fanfare, push_service = keep(Fanfare()), keep(PushService(profile))
            desktop, site = keep(Desktop()), keep(Site(fanfare))
            environment = {**os.environ, "DBUS_SESSION_BUS_ADDRESS": desktop.address,
                           "HOME": profile}
            browser = keep(chromium.Browser(
                chromium.find(), profile, environment, push_service.browser_flags))
            product = browser.command("Browser.getVersion", seconds=30)["product"]
            count = Scenario(site, Page(browser, site), fanfare, push_service, desktop,
                             encryptors).run(flags.verbose)
        except Failure as failure:
            print(failure)
            log = pathlib.Path(profile, "browser.log")
            if log.exists():
                print(log.read_text(errors="replace")[-2000:], file=sys.stderr)
            return 1
    print(f"{count} steps in {product}, all as they must be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
