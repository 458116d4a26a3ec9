#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The window as a screen reader sees it: over AT-SPI, the D-Bus protocol of Linux desktops, under Xvfb. Goes to every view
by the actions of the rail's buttons, and fails on anything that takes the focus without a role or a name, on sliders
without a value and on tables without rows; the timeline has to tell the selected slice. Exit code 77: something that this
needs is missing.
  screen_reader.py FOURWALLS FOURWALLS-CLI"""
import os
import shutil
import subprocess
import sys
import tempfile

from desktop import PATIENCE, wait_for

TOOLS = {"Xvfb": "xvfb", "dbus-run-session": "dbus"}
LAUNCHERS = ("/usr/libexec/at-spi-bus-launcher", "/usr/lib/at-spi2-core/at-spi-bus-launcher")
ACCESSIBLE, ACTION, VALUE, TABLE = ("org.a11y.atspi." + name for name in ("Accessible", "Action", "Value", "Table"))
FOCUSABLE, SELECTED, SHOWING = 11, 23, 25  # bits of a state
SILENT_ROLES = {"", "unknown", "filler", "invalid", "redundant object"}
VIEWS = ["Overview", "Timeline", "Memory", "Communication", "Performance", "Pipeline", "Tuning", "Steps", "Tables"]


def python_with_gio():
    for python in (sys.executable, "/usr/bin/python3"):
        if python and subprocess.run([python, "-c", "from gi.repository import Gio"], capture_output=True).returncode == 0:
            return python
    return None


def missing_packages():
    missing = {package for tool, package in TOOLS.items() if not shutil.which(tool)}
    if not python_with_gio():
        missing.add("python3-gi")
    if not any(map(os.path.exists, LAUNCHERS)):
        missing.add("at-spi2-core")
    return sorted(missing)


class Thing:
    """One object of the tree that the program tells."""

    def __init__(self, bus, name, path):
        self.bus, self.name_on_bus, self.path = bus, name, path

    def call(self, interface, method, arguments=None, answer=None):
        from gi.repository import Gio, GLib
        done = self.bus.call_sync(self.name_on_bus, self.path, interface, method, arguments,
                                  GLib.VariantType(answer) if answer else None, Gio.DBusCallFlags.NONE, 20000, None)
        return done.unpack()

    def property(self, name, interface=ACCESSIBLE):
        from gi.repository import GLib
        return self.call("org.freedesktop.DBus.Properties", "Get", GLib.Variant("(ss)", (interface, name)), "(v)")[0]

    def children(self):
        return [Thing(self.bus, name, path) for name, path in self.call(ACCESSIBLE, "GetChildren", None, "(a(so))")[0]]

    def interfaces(self):
        return self.call(ACCESSIBLE, "GetInterfaces", None, "(as)")[0]

    def has(self, bit):
        low, high = self.call(ACCESSIBLE, "GetState", None, "(au)")[0]
        return bool((low if bit < 32 else high) >> (bit % 32) & 1)

    def name(self):
        return self.property("Name")

    def role(self):
        return self.call(ACCESSIBLE, "GetRoleName", None, "(s)")[0]

    def act(self):
        from gi.repository import GLib
        return self.call(ACTION, "DoAction", GLib.Variant("(i)", (0,)), "(b)")[0]

    def all(self, depth=0):
        """This and everything below it that is shown."""
        if depth == 0 or self.has(SHOWING):
            yield self
            for child in self.children():
                yield from child.all(depth + 1)


def silences(window):
    """What of the window is not told, each as a sentence; and how much was looked at."""
    found, looked = set(), 0
    for thing in window.all():
        looked += 1
        role, name, interfaces = thing.role(), thing.name().strip(), thing.interfaces()
        said = f"{role} \"{name}\""
        if thing.has(FOCUSABLE) and role in SILENT_ROLES:
            found.add(f"{said} takes the focus without a role")
        if thing.has(FOCUSABLE) and not name and role not in ("scroll bar", "cell", "table cell"):
            found.add(f"{said} takes the focus without a name")
        if role in ("slider", "spin button"):
            if VALUE not in interfaces:
                found.add(f"{said} has no value")
            else:
                thing.property("CurrentValue", VALUE)
        if role == "table" and (TABLE not in interfaces or thing.property("NColumns", TABLE) < 1):
            found.add(f"{said} has no columns")
    return sorted(found), looked


def first(root, role, name):
    """The first object of that role and name that is shown, or None."""
    for thing in root.all():
        if thing.role() == role and thing.name() == name:
            return thing
    return None


class Reader:
    def __init__(self):
        self.failed = 0

    def check(self, name, good, found):
        print(f"{name}: {'ok' if good else 'FAILED'} ({found})", flush=True)
        self.failed += not good

    def read(self, window):
        for view in VIEWS:
            button = wait_for(f"the button {view}", lambda: first(window, "radio button", view))
            button.act()
            wait_for(f"the view {view}", lambda: first(window, "panel", view))
            found, looked = silences(window)
            self.check(view, not found, "; ".join(found) or f"{looked} objects")
            if view == "Timeline":
                self.read_timeline(first(window, "chart", "Timeline"))

    def read_timeline(self, timeline):
        parts = wait_for("the selected slice", lambda: [c for c in timeline.children() if c.has(SELECTED)])
        self.check("selected slice", len(parts) == 1 and "rank 0" in parts[0].name(), parts[0].name())
        rows = [child.name() for child in timeline.children()][1:]
        self.check("rows of the timeline", any(row.startswith("rank 0") for row in rows), "; ".join(rows[:4]))


def inside(fourwalls, trace):
    """Within a session bus of its own."""
    from gi.repository import Gio, GLib
    running = []
    reader = Reader()
    try:
        read, write = os.pipe()
        running.append(subprocess.Popen(["Xvfb", "-displayfd", str(write), "-screen", "0", "1700x1000x24", "-nolisten",
                                         "tcp"], pass_fds=[write], stderr=subprocess.DEVNULL))
        os.close(write)
        with os.fdopen(read) as number:
            os.environ["DISPLAY"] = ":" + number.readline().strip()
        launcher = next(path for path in LAUNCHERS if os.path.exists(path))
        running.append(subprocess.Popen([launcher, "--launch-immediately"], stderr=subprocess.DEVNULL))
        session = Gio.bus_get_sync(Gio.BusType.SESSION, None)

        def address():
            try:
                return session.call_sync("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", None,
                                         GLib.VariantType("(s)"), Gio.DBusCallFlags.NONE, 5000, None).unpack()[0]
            except GLib.Error:
                return None

        found = wait_for("the bus of AT-SPI", address)
        flags = Gio.DBusConnectionFlags
        bus = Gio.DBusConnection.new_for_address_sync(
            found, flags.AUTHENTICATION_CLIENT | flags.MESSAGE_BUS_CONNECTION, None, None)
        registry = Thing(bus, "org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        running.append(subprocess.Popen([fourwalls, "--view", "timeline", "--slice", "40", trace],
                                        env={**os.environ, "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
                                             "QT_QPA_PLATFORM": "xcb", "LANG": "C.UTF-8"}))
        wait_for("the program", lambda: registry.children())
        window = wait_for("its window", lambda: next((child for child in registry.children()[0].children()
                                                      if child.has(SHOWING)), None))
        reader.read(window)
    except (TimeoutError, GLib.Error) as error:
        reader.check("screen reader", False, error)
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()
    return 1 if reader.failed else 0


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--inside":
        return inside(*sys.argv[2:4])
    missing = missing_packages()
    if missing:
        print("missing: " + " ".join(missing))
        return 77
    fourwalls, cli = (os.path.abspath(path) for path in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        trace = os.path.join(folder, "step.fourwalls")
        subprocess.run([cli, "record", "-o", trace, "--model", "gpt-tiny", "--steps", "3"], check=True,
                       stdout=subprocess.DEVNULL)
        environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_RUNTIME_DIR": folder,
                       "LC_ALL": "C.UTF-8"}
        for name in ("WAYLAND_DISPLAY", "QT_SCALE_FACTOR", "XDG_CURRENT_DESKTOP", "DBUS_SESSION_BUS_ADDRESS"):
            environment.pop(name, None)
        return subprocess.run(["dbus-run-session", "--", python_with_gio(), os.path.abspath(__file__), "--inside",
                               fourwalls, trace], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
