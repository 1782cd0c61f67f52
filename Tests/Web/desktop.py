"""A desktop's notifications on a bus of its own (freedesktop.org, Desktop Notifications 1.2): keeps
what a browser wants to show, and clicks on it as a person would."""

import subprocess
import threading

from jeepney import (
    DBusAddress, HeaderFields, MessageType, new_error, new_method_return, new_signal)
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

NAME = "org.freedesktop.Notifications"
PATH = "/org/freedesktop/Notifications"
# What Chromium asks for before it leaves notifications to a desktop.
CAPABILITIES = ["actions", "body", "body-markup", "persistence"]


class Desktop:
    def __init__(self):
        self.bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"],
            stdout=subprocess.PIPE, text=True)
        self.address = self.bus.stdout.readline().strip()
        self._connection = open_dbus_connection(self.address)
        self._connection.send_and_get_reply(message_bus.RequestName(NAME))
        self._changed = threading.Condition()
        self._sending = threading.Lock()
        # By id: title, and its actions by what they are called; None once it is closed.
        self._shown = {}
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        try:
            while True:
                message = self._connection.receive()
                if message.header.message_type == MessageType.method_call:
                    self._take(message)
        except (OSError, EOFError):
            # The bus has ended.
            return

    def _take(self, message):
        member = message.header.fields.get(HeaderFields.member)
        if member == "GetCapabilities":
            self._send(new_method_return(message, "as", (CAPABILITIES,)))
        elif member == "GetServerInformation":
            self._send(new_method_return(message, "ssss", ("judge", "judge", "1", "1.2")))
        elif member == "Notify":
            self._notify(message)
        elif member == "CloseNotification":
            self._send(new_method_return(message))
            with self._changed:
                self._shown[message.body[0]] = None
            self._send(self._signal("NotificationClosed", "uu", (message.body[0], 3)))
        else:
            self._send(new_error(message, "org.freedesktop.DBus.Error.UnknownMethod"))

    def _notify(self, message):
        _, replaced, _, title, _, actions, _, _ = message.body
        number = replaced or len(self._shown) + 1
        # First: a click on what the browser does not know yet would be lost.
        self._send(new_method_return(message, "u", (number,)))
        with self._changed:
            self._shown[number] = (title, dict(zip(actions[1::2], actions[0::2])))
            self._changed.notify_all()

    def _send(self, message):
        with self._sending:
            self._connection.send(message)

    @staticmethod
    def _signal(name, signature, body):
        return new_signal(DBusAddress(PATH, interface=NAME), name, signature, body)

    def wait(self, title, seconds=10):
        """The id of what is shown under a title; None: nothing is, in time."""
        def find():
            return next((number for number, shown in self._shown.items()
                         if shown and shown[0] == title), None)
        with self._changed:
            self._changed.wait_for(find, seconds)
            return find()

    def action(self, number, name):
        """The id of a button."""
        return self._shown[number][1][name]

    def click(self, number, action="default"):
        self._send(self._signal("ActionInvoked", "us", (number, action)))

    def stop(self):
        self.bus.terminate()
        self.bus.wait()
