#!/usr/bin/env python3
# Flames in a real browser: what is drawn, zoom, search, keyboard, tooltip, and names that must not act.
"""usage: flame_browser_test.py CPROF GOLDEN_FOLDER FLAME_CHANGE [unittest arguments]"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
import xml.parsers.expat

import recordings
from browser import Browser, Page, find_browser

SKIPPED = 77
CPROF, GOLDEN, CHANGE = sys.argv[1:4]
RECORDING = os.path.join(GOLDEN, "contention.txt")

# What the page shows, as values. A narrow box has no label, so names come from what is read aloud.
BOXES = """[...document.querySelectorAll('g.frames > g')].map(g => ({
  words: (g.querySelector('title') || {textContent: ''}).textContent || g.getAttribute('aria-label'),
  label: (g.querySelector('text') || {textContent: ''}).textContent,
  class: g.querySelector('rect').getAttribute('class'),
  parts: [...g.querySelectorAll('rect')].slice(1).map(r => r.getAttribute('class')),
  x: +g.querySelector('rect').getAttribute('x'), y: +g.querySelector('rect').getAttribute('y'),
  width: +g.querySelector('rect').getAttribute('width'), state: g.getAttribute('class') || ''}))"""
FOCUSED = "(document.activeElement.getAttribute('aria-label') || document.activeElement.tagName)"
FOUND = "document.querySelector('.found').textContent"
TIP = """document.querySelector('.tip').getAttribute('display') === 'none' ? '' :
  [...document.querySelectorAll('.tip text')].map(t => t.textContent).join('\\n')"""


def flame(path, recording, *options):
    """Writes the picture; returns the folded lines with the same options."""
    common = [CPROF, "flame", "-i", recording]
    subprocess.run(common + ["-o", path, *options], check=True, stderr=subprocess.DEVNULL)
    fold = [o for o in options if o != "--icicle"]
    return subprocess.run(common + ["--folded", *fold], check=True, capture_output=True,
                          text=True).stdout


def parse_strictly(path):
    with open(path, "rb") as file:
        xml.parsers.expat.ParserCreate().ParseFile(file)


def milliseconds(amount_ns):
    """As the page says it, for the weights of the golden recording."""
    for size, unit in ((1e6, "ms"), (1e3, "us")):
        if amount_ns >= size:
            whole = int(amount_ns / size)
            return f"{amount_ns / size:.{1 if whole >= 100 else 2 if whole >= 10 else 3}f} {unit}"
    return f"{amount_ns} ns"


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def show(self, name, *options, recording=RECORDING, width=1300):
        path = self.file(name)
        self.folded = recordings.Folded(flame(path, recording, *options))
        parse_strictly(path)
        self.page = Page(self.browser, width=width)
        self.addCleanup(self.page.close)
        self.page.open(path)
        self.page.wait_for("document.documentElement.dataset.ready === 'true'")

    def boxes(self):
        return self.page.value(BOXES)

    def box(self, start):
        """The one whose name begins so."""
        found = [box for box in self.boxes() if box["words"].startswith(start)]
        self.assertEqual(len(found), 1, start)
        return found[0]

    def middle(self, box):
        """Where it is in the window."""
        top = self.page.value("document.querySelector('svg').getBoundingClientRect().top")
        return box["x"] + box["width"] / 2, top + box["y"] + 8

    def click(self, start):
        self.page.click(*self.middle(self.box(start)))


class Drawing(Case):
    def test_script_draws_what_stands_in_the_file(self):
        for options in ([], ["--icicle"], ["--weight", "wall"], ["--by", "thread"],
                        ["--weight", "count"], ["--by", "io_request"], ["--min-width", "40"]):
            path = self.file("still.svg")
            flame(path, RECORDING, *options)
            page = Page(self.browser, width=1200)
            page.call("Emulation.setScriptExecutionDisabled", value=True)
            page.open(path)
            still = page.value(BOXES)
            page.call("Emulation.setScriptExecutionDisabled", value=False)
            page.open(path)
            page.wait_for("document.documentElement.dataset.ready === 'true'")
            live = page.value(BOXES)
            self.assertEqual(page.complaints(), [])
            page.close()
            self.assertGreaterEqual(len(still), 3)
            self.assertEqual(len(still), len(live), options)
            still.sort(key=lambda box: (box["y"], box["x"]))
            live.sort(key=lambda box: (box["y"], box["x"]))
            for a, b in zip(still, live):
                for same in ("class", "y", "parts"):
                    self.assertEqual(a[same], b[same], a)
                self.assertAlmostEqual(a["x"], b["x"], delta=0.03)
                self.assertAlmostEqual(a["width"], b["width"], delta=0.03)
                self.assertEqual(a["words"].rsplit(" (", 1)[0], b["words"][:len(a["words"].rsplit(" (", 1)[0])])

    def test_is_an_image_too(self):
        flame(self.file("flame.svg"), RECORDING)
        with open(self.file("page.html"), "w", encoding="utf-8") as file:
            file.write('<body style="margin:0"><img src="flame.svg"></body>')
        page = Page(self.browser)
        self.addCleanup(page.close)
        page.open(self.file("page.html"))
        self.assertEqual(page.value("document.images[0].naturalWidth"), 1200)
        self.assertEqual(page.complaints(), [])

    def test_narrow_neighbours_share_a_box(self):
        self.show("narrow.svg", "--min-width", "120")
        narrow = [box for box in self.boxes() if " narrow frame" in box["words"]]
        self.assertGreaterEqual(len(narrow), 1)
        # All of them together are still all there is.
        hidden = sum(int(box["words"].split(" ")[0]) for box in narrow)
        self.assertEqual(len(self.boxes()) - len(narrow) + hidden, len(self.folded.total))

    def test_evidence_is_a_pattern(self):
        self.show("wall.svg", "--weight", "wall", "--min-width", "0")
        unknown = [box for box in self.boxes() if box["words"].startswith("unknown, ")]
        self.assertEqual(len(unknown), 3)
        for box in unknown:
            self.assertTrue(box["words"].endswith("evidence: 100.0 % unknown"), box)


class Zoom(Case):
    def test_click_makes_a_frame_as_wide_as_the_picture(self):
        self.show("flame.svg")
        whole = self.box("all,")["width"]
        hot = "request http/GET cold"
        self.assertLess(self.box(hot)["width"], whole / 2)
        self.click(hot)
        self.assertEqual(self.box(hot)["width"], whole)
        self.assertEqual(self.box("io_read")["width"], whole)
        names = {box["words"].split(",")[0] for box in self.boxes()}
        self.assertEqual(names, {"all", hot, "thread worker-0", "[unknown]", "io_read"})
        # Those below show the way and lead back.
        self.assertEqual(self.box("all,")["state"], "above")
        self.click("all,")
        self.assertEqual(len(self.boxes()), len(self.folded.total))

    def test_widths_are_shares_of_what_is_zoomed_into(self):
        self.show("wall.svg", "--weight", "wall")
        hot = ("request http/GET hot",)
        self.click(hot[0] + ",")
        whole = self.box("all,")["width"] + 0.8
        left = 12.0
        seen = 0
        for path in self.folded.children(hot):
            share = self.folded.total[path] / self.folded.total[hot] * whole
            box = [b for b in self.boxes() if b["words"].startswith(path[-1] + ",") and
                   abs(b["x"] - left) < 0.1]
            left += share
            if share < 1:
                continue
            self.assertEqual(len(box), 1, path)
            self.assertAlmostEqual(box[0]["width"] + min(0.8, share / 5), share, delta=0.1)
            seen += 1
        self.assertGreaterEqual(seen, 2)

    def test_reset_by_button_and_by_escape(self):
        self.show("flame.svg")
        disabled = "document.querySelector('button').disabled"
        self.assertTrue(self.page.value(disabled))
        before = self.boxes()
        for reset in ("button", "Escape"):
            self.click("request http/GET cold")
            self.assertNotEqual(self.boxes(), before)
            self.assertFalse(self.page.value(disabled))
            if reset == "Escape":
                self.page.key("Escape")
            else:
                where = self.page.value("(r => [r.x + r.width / 2, r.y + r.height / 2])"
                                        "(document.querySelector('button').getBoundingClientRect())")
                self.page.click(*where)
            self.assertEqual(self.boxes(), before, reset)

    def test_a_box_of_narrow_frames_opens(self):
        self.show("narrow.svg", "--min-width", "120")
        narrow = [box for box in self.boxes() if " narrow frame" in box["words"]]
        self.page.click(*self.middle(narrow[0]))
        self.assertIn("request http/\\x1b[2J</title><script>",
                      [box["words"].split(",")[0] for box in self.boxes()])
        self.assertEqual(self.page.complaints(), [])


class Search(Case):
    def search(self, text):
        self.page.key("f", control=True)
        self.assertEqual(self.page.value(FOCUSED), "Search frames by text or regular expression")
        self.page.write(text)

    def expect(self, matches):
        frames, weight = self.folded.matching(matches)
        self.assertGreater(frames, 0)
        share = 100 * weight / self.folded.total[()]
        words = "match" if frames == 1 else "matches"
        self.assertEqual(self.page.value(FOUND), f"{frames} {words}, {share:.1f} %")

    def test_counts_and_weighs_matches(self):
        self.show("wall.svg", "--weight", "wall")
        self.search("io READ|runnable")
        self.expect(lambda name: re.search("io READ|runnable", name, re.I))
        hits = [box for box in self.boxes() if "hit" in box["state"]]
        self.assertGreaterEqual(len(hits), 2)
        for box in hits:
            self.assertRegex(box["words"], "^(io READ|runnable),")

    def test_what_stands_on_a_match_is_not_counted_twice(self):
        self.show("flame.svg")
        self.search("unknown|io_read")
        self.expect(lambda name: re.search("unknown|io_read", name, re.I))

    def test_capitals_count_where_there_are_any(self):
        self.show("wall.svg", "--weight", "wall")
        self.search("get")
        self.expect(lambda name: "get" in name.lower())
        self.page.key("Escape")
        self.assertEqual(self.page.value(FOUND), "")
        self.search("Get")
        self.assertEqual(self.page.value(FOUND), "0 matches, 0.0 %")

    def test_text_that_is_no_expression_is_searched_as_it_stands(self):
        self.show("flame.svg")
        self.search("[2J</")
        self.assertEqual(self.page.value("document.querySelector('input').className"), "wrong")
        self.expect(lambda name: "[2J</" in name)

    def test_enter_goes_from_match_to_match_though_they_are_not_drawn(self):
        self.show("narrow.svg", "--min-width", "400")
        drawn = [box["words"].split(",")[0] for box in self.boxes()]
        self.assertNotIn("io_read", drawn)
        self.search("io_read|worker-0")
        self.page.key("Enter")
        self.assertTrue(self.page.value(FOCUSED).startswith("thread worker-0,"))
        self.page.key("n")
        self.assertTrue(self.page.value(FOCUSED).startswith("io_read,"))
        self.page.key("n")
        self.assertTrue(self.page.value(FOCUSED).startswith("thread worker-0,"))
        self.page.key("N")
        self.assertTrue(self.page.value(FOCUSED).startswith("io_read,"))

    def test_in_a_zoom_the_share_of_it_is_told_too(self):
        self.show("wall.svg", "--weight", "wall")
        hot = ("request http/GET hot",)
        self.click(hot[0] + ",")
        self.search("io READ")
        inside = sum(w for p, w in self.folded.total.items()
                     if p[:1] == hot and p[-1] == "io READ")
        self.assertGreater(inside, 0)
        self.assertRegex(self.page.value(FOUND),
                         rf"\(here 1, {100 * inside / self.folded.total[hot]:.1f} %\)$")


class Keyboard(Case):
    def focus_frames(self):
        for _ in range(6):
            self.page.key("Tab")
            if self.page.value("document.activeElement.getAttribute('role') === 'treeitem'"):
                return
        self.fail("Tab does not reach the frames")

    def test_arrows_walk_the_frames(self):
        for options, outwards, inwards in (([], "ArrowUp", "ArrowDown"),
                                           (["--icicle"], "ArrowDown", "ArrowUp")):
            self.show("walk.svg", *options)
            self.focus_frames()
            self.assertTrue(self.page.value(FOCUSED).startswith("all,"))
            self.page.key(outwards)
            self.assertTrue(self.page.value(FOCUSED).startswith("[no request],"))  # the widest
            self.page.key("ArrowRight")
            self.page.key("ArrowRight")
            self.assertTrue(self.page.value(FOCUSED).startswith("request http/GET cold,"))
            self.page.key(outwards)
            self.assertTrue(self.page.value(FOCUSED).startswith("thread worker-0,"))
            self.page.key(inwards)
            self.page.key("ArrowLeft")
            self.assertTrue(self.page.value(FOCUSED).startswith("request http/\\x1b[2J"))
            self.page.key("Home")
            self.assertTrue(self.page.value(FOCUSED).startswith("all,"))

    def test_enter_zooms_and_focus_can_be_seen(self):
        self.show("flame.svg")
        self.focus_frames()
        border = ("parseFloat(getComputedStyle(document.activeElement.querySelector('rect'))"
                  ".strokeWidth)")
        self.assertGreaterEqual(self.page.value(border), 2)
        self.assertIn("12.10 ms, 100.00 %", self.page.value(TIP))
        self.page.key("ArrowUp")
        self.page.key("ArrowRight")
        self.page.key("ArrowRight")
        self.page.key("Enter")
        cold = self.box("request http/GET cold")
        self.assertEqual(cold["width"], self.box("all,")["width"])
        self.assertTrue(self.page.value(FOCUSED).startswith("request http/GET cold,"))
        self.assertGreaterEqual(self.page.value(border), 2)
        self.page.key("/")
        self.assertEqual(self.page.value(FOCUSED), "Search frames by text or regular expression")
        self.page.key("Escape")
        self.assertEqual(len(self.boxes()), len(self.folded.total))
        self.assertTrue(self.page.value(FOCUSED).startswith("request http/GET cold,"))

    def test_one_frame_at_a_time_is_in_the_order_of_tabs(self):
        self.show("flame.svg")
        self.focus_frames()
        self.page.key("ArrowUp")
        self.assertEqual(self.page.value(
            "document.querySelectorAll('g.frames > g[tabindex=\"0\"]').length"), 1)
        self.assertEqual(self.page.value("document.querySelectorAll('[role=tree]').length"), 1)
        unnamed = "[...document.querySelectorAll('[role=treeitem]')].filter(g => !g.ariaLabel).length"
        self.assertEqual(self.page.value(unnamed), 0)


class Tooltip(Case):
    def test_tells_weight_and_share(self):
        self.show("wall.svg", "--weight", "wall")
        path = ("request http/GET cold", "io")
        box = [b for b in self.boxes() if b["words"].startswith("io,")][0]
        self.page.mouse("mouseMoved", *self.middle(box))
        weight = self.folded.total[path]
        of_all = 100 * weight / self.folded.total[()]
        below = 100 * weight / self.folded.total[path[:1]]
        self.assertEqual(self.page.value(TIP).split("\n")[:3], [
            "io", f"{milliseconds(weight)}, {of_all:.2f} %, {below:.1f} % of the frame below", "io"])
        self.page.mouse("mouseMoved", 5, 5)
        self.assertEqual(self.page.value(TIP), "")

    def test_stays_in_the_window(self):
        self.show("flame.svg", width=1000)
        for box in self.boxes():
            self.page.mouse("mouseMoved", box["x"] + box["width"] - 1, self.middle(box)[1])
            edges = self.page.value("(r => [r.left, r.top, innerWidth - r.right])"
                                    "(document.querySelector('.tip').getBoundingClientRect())")
            for edge in edges:
                self.assertGreaterEqual(edge, 0, box)


class Names(Case):
    def test_a_name_like_markup_or_script_does_nothing(self):
        with open(self.file("evil.txt"), "w", encoding="utf-8") as file:
            file.write(recordings.evil())
        tags = set()
        for options in ([], ["--weight", "wall"], ["--by", "thread"], ["--icicle"],
                        ["--title", recordings.quoted(recordings.EVIL_NAMES[0])],
                        ["--title", recordings.quoted(recordings.EVIL_NAMES[1])]):
            self.show("evil.svg", *options, recording=self.file("evil.txt"))
            # Look at each, closely, and search for each.
            for box in self.boxes()[:12]:
                self.page.mouse("mouseMoved", *self.middle(box))
            for name in recordings.EVIL_NAMES:
                text = recordings.quoted(name)
                self.page.key("f", control=True)
                self.page.write(text)
                self.page.key("Enter")
                self.page.key("Enter")
            tags |= set(self.page.value(
                "[...document.querySelectorAll('*')].map(e => e.localName)"))
            self.assertEqual(self.page.value("document.querySelectorAll('script').length"), 2)
            attributes = self.page.value("[...document.querySelectorAll('*')].flatMap(e => "
                                         "[...e.attributes].map(a => a.name))")
            self.assertEqual([a for a in attributes if a.startswith("on")], [])
            self.page.value("location.hash = 'x'; 1")
            self.assertIsNone(self.page.value("window.acted"))
            self.assertEqual(self.page.complaints(), [])
        self.assertEqual(tags, {"svg", "style", "defs", "pattern", "rect", "circle", "g", "text",
                                "script", "foreignObject", "div", "span", "input", "button"})

    def test_they_are_shown_as_they_are(self):
        with open(self.file("evil.txt"), "w", encoding="utf-8") as file:
            file.write(recordings.evil())
        self.show("evil.svg", "--min-width", "0", recording=self.file("evil.txt"))
        words = [box["words"] for box in self.boxes()]
        for name in recordings.EVIL_NAMES:
            shown = recordings.quoted(name).replace("\\", "\\x5c")
            self.assertTrue(any(w.startswith(shown + ", ") for w in words), shown)


class Change(Case):
    def setUp(self):
        path = self.file("change.svg")
        with open(path, "wb") as file:
            subprocess.run([CHANGE], check=True, stdout=file)
        parse_strictly(path)
        self.page = Page(self.browser)
        self.addCleanup(self.page.close)
        self.page.open(path)
        self.page.wait_for("document.documentElement.dataset.ready === 'true'")

    def test_colour_is_by_how_the_weight_changed(self):
        steps = {box["words"].split(",")[0]: box["class"] for box in self.boxes()}
        self.assertEqual(steps, {"all": "b d1", "same": "b d0", "grew": "b d3", "shrank": "b d-4",
                                 "new": "b d4"})
        tip = self.box("grew,")["words"]
        self.assertIn("before: 60.00 ms", tip)
        self.assertIn("grew by 30.00 ms, 50.0 %", tip)

    def test_widths_of_before_show_what_is_gone(self):
        self.assertNotIn("gone", {box["words"].split(",")[0] for box in self.boxes()})
        where = self.page.value("(r => [r.x + r.width / 2, r.y + r.height / 2])"
                                "(document.querySelector('button[aria-pressed]').getBoundingClientRect())")
        self.page.click(*where)
        boxes = {box["words"].split(",")[0]: box for box in self.boxes()}
        self.assertNotIn("new", boxes)
        self.assertEqual(boxes["gone"]["class"], "b d-4")
        self.assertAlmostEqual(boxes["gone"]["width"], boxes["same"]["width"] * 0.2, delta=1.0)
        self.page.click(*where)
        self.assertIn("new", {box["words"].split(",")[0] for box in self.boxes()})


class Crowd(Case):
    # Clicks on every box of narrow frames, and in what opens again, and gathers names on the way.
    EXPLORE = """(() => {
      const seen = new Set();
      const boxes = () => [...document.querySelectorAll('g.frames > g')];
      const isNarrow = g => g.querySelector('rect').getAttribute('class') === 'b m';
      const click = g => g.dispatchEvent(new MouseEvent('click', {bubbles: true}));
      let opened = 0, most = 0;
      const again = path => {
        document.querySelector('button').click();
        for (const index of path) click(boxes()[index]);
      };
      const visit = path => {
        const here = boxes();
        most = Math.max(most, here.length);
        const narrow = [];
        here.forEach((g, index) => {
          if (isNarrow(g)) narrow.push(index);
          else seen.add(g.getAttribute('aria-label').split(',')[0]);
        });
        for (const index of narrow) {
          again([...path, index]);
          ++opened;
          visit([...path, index]);
        }
      };
      visit([]);
      return {seen: [...seen].filter(name => /^f\\d+$/.test(name)).length, opened, most};
    })()"""

    def test_a_hundred_thousand_frames_open_and_all_can_be_reached(self):
        text, count = recordings.crowd()
        self.assertGreater(count, 100_000)
        with open(self.file("crowd.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        self.show("crowd.svg", recording=self.file("crowd.txt"))
        # "all", what nobody asked for, and its thread stand below.
        self.assertEqual(len(self.folded.total), count + 3)
        drawn = len(self.boxes())
        ready = self.page.value("performance.getEntriesByType('navigation')[0].loadEventEnd")
        painted = self.page.value(
            "(performance.getEntriesByName('first-contentful-paint')[0] || {startTime: 0}).startTime")
        size = os.path.getsize(self.file("crowd.svg")) / 1e6
        print(f"\n{count:,} distinct frames, {size:.1f} MB: loaded in {ready:.0f} ms, painted at "
              f"{painted:.0f} ms; {drawn:,} boxes at first", file=sys.stderr)
        self.page.key("f", control=True)
        self.page.write("^f[0-9]+$")
        self.page.wait_for(FOUND + f" === '{count:,} matches, 100.0 %'")
        self.page.key("Escape")
        explored = self.page.value(self.EXPLORE)
        self.assertEqual(explored["seen"], count)
        self.assertGreater(explored["opened"], 100)
        self.assertLess(explored["most"], 20_100)
        self.assertEqual(self.page.complaints(), [])


if __name__ == "__main__":
    if find_browser() is None:
        print("skipped: no chromium; ./dev installs it from Debian")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
