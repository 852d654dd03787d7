"""The end of a countdown is announced: by sound, vibration, notification and notice, once."""

from playwright.sync_api import expect

from relay import wait_until
from stage import PAGES, Story

# Web Audio as a list: each sound is written down with its notes, and nothing is heard. Like the
# browser's own, it does not run before a person has pressed something.
LISTEN = """
window.heard = [];
window.AudioContext = class {
  state = "suspended";
  destination = {};
  #begin = performance.now();
  #sound = null;
  get currentTime() { return (performance.now() - this.#begin) / 1_000; }
  async resume() { if (navigator.userActivation.hasBeenActive) this.state = "running"; }
  async suspend() { this.state = "suspended"; }
  createGain() {
    const sound = { notes: 0, gain: 0, isEnded: false };
    const gain = {
      setValueAtTime: () => {}, exponentialRampToValueAtTime: () => {},
      linearRampToValueAtTime: (value) => { sound.gain = value; },
      setTargetAtTime: (value) => { sound.isEnded = value === 0; },
    };
    return { gain, sound, connect: (target) => {
      if (target === this.destination) heard.push(sound);
      else { target.sound.notes += 1; target.sound.gain += sound.gain; }
      return target;
    } };
  }
  createOscillator() {
    const it = { frequency: {}, start: () => {}, connect: (target) => target,
      stop: (end) => setTimeout(() => it.onended?.(), (end - this.currentTime) * 1_000) };
    return it;
  }
};
window.felt = [];
navigator.vibrate = (pulses) => { if (pulses.length > 0) felt.push(pulses); return true; };
const matches = window.matchMedia.bind(window);
window.matchMedia = (words) =>
  words === "(pointer: coarse)" ? { matches: true } : matches(words);
window.isHidden = false;
Object.defineProperty(document, "visibilityState",
  { get: () => (isHidden ? "hidden" : "visible") });
window.hide = (it) => {
  isHidden = it;
  document.dispatchEvent(new Event("visibilitychange"));
};
"""

# A browser that delays the timers of a hidden page: longer than a story takes.
SLOW_WHEN_HIDDEN = """
const usual = window.setTimeout.bind(window);
window.setTimeout = (act, milliseconds, ...rest) =>
  usual(act, isHidden ? 600_000 : milliseconds, ...rest);
"""

# The service worker's registration, as a list of what is shown.
NOTIFICATIONS = """
window.shown = [];
const double = {
  getNotifications: async ({ tag }) => shown.filter((it) => it.tag === tag)
    .map((it) => ({ ...it, close: () => { shown = shown.filter((other) => other !== it); } })),
  showNotification: async (title, options) => { shown.push(options); },
};
navigator.serviceWorker.getRegistration = async () => double;
"""

SCREEN = """
window.locks = 0;
const wakeLock = { request: async () => {
  locks += 1;
  const lock = new EventTarget();
  window.endLock = () => { locks -= 1; lock.dispatchEvent(new Event("release")); };
  lock.release = async () => endLock();
  return lock;
} };
Object.defineProperty(navigator, "wakeLock", { value: wakeLock });
"""

MEDIA = """
window.media = { playbackState: "none", metadata: null, handlers: {},
  setActionHandler: (name, act) => { media.handlers[name] = act; } };
Object.defineProperty(navigator, "mediaSession", { value: media });
"""

# What a loudspeaker would get from a sound at full volume: its greatest sample, the greatest step
# between two samples next to each other, and the seconds until it is over.
RENDERED = """async (sound) => {
  const { SoundPlayer } = await import("/page/timer/alerts/soundPlayer.js");
  const { notesOf } = await import("/page/timer/alerts/sounds.js");
  const offline = new OfflineAudioContext(1, 44_100 * 3, 44_100);
  const context = { state: "running", currentTime: 0, destination: offline.destination,
    resume: async () => {}, suspend: async () => {}, createGain: () => offline.createGain(),
    createOscillator: () => offline.createOscillator() };
  const player = new SoundPlayer({ openAudio: () => context, setTimer: setTimeout });
  await player.unlock();
  await player.play(notesOf(sound, 100));
  const samples = (await offline.startRendering()).getChannelData(0);
  const steps = samples.map((it, index) => it - (samples[index - 1] ?? 0));
  const greatest = (values) => values.reduce((most, it) => Math.max(most, Math.abs(it)), 0);
  return { peak: greatest(samples), step: greatest(steps),
    seconds: samples.findLastIndex((it) => Math.abs(it) > 0.001) / 44_100 };
}"""


class TimerSoundStories(Story):
    def person(self, *scripts, seconds=3, **options):
        """Returns a person whose focus lasts some seconds."""
        person = self.visitor(**options)
        for script in (LISTEN, *scripts):
            person.context.add_init_script(script)
        person.make_account()
        self.sets_focus(person, seconds)
        return person

    def sets_focus(self, person, seconds):
        page = person.page
        page.get_by_text("Lengths and breaks").click()
        page.get_by_label("Focus (min)").fill(str(seconds / 60))
        person.press("Save")
        expect(page.get_by_text("Saved. It holds from the next phase on.")).to_be_visible()
        page.get_by_text("Lengths and breaks").click()

    def opens_alerts(self, person):
        person.page.get_by_text("Sound and alerts").click()

    def heard(self, page, count=1):
        wait_until(lambda: len(page.evaluate("() => heard")) >= count, lambda: "nothing is heard")
        sounds = page.evaluate("() => heard")
        self.assertEqual(len(sounds), count)
        return sounds

    def sees_end(self, page):
        expect(page.get_by_text("Focus is over. Time for a break.")).to_be_visible()

    def test_the_end_of_a_focus_is_heard_felt_and_seen_once(self):
        person = self.person()
        person.press("Start focus")
        self.sees_end(person.page)
        [sound] = self.heard(person.page)
        self.assertGreater(sound["notes"], 3)
        self.assertEqual(len(person.page.evaluate("() => felt")), 1)
        # It ends when a person acts on the timer.
        person.press("Pause")
        wait_until(lambda: person.page.evaluate("() => heard[0].isEnded"),
                   lambda: "it goes on sounding")
        # A page that is opened again does not repeat it.
        person.page.reload()
        person.is_in_sync()
        self.assertEqual(person.page.evaluate("() => heard"), [])

    def test_a_person_who_types_hears_it_to_the_end(self):
        person = self.person()
        person.press("Start focus")
        person.go("Memos")
        person.press("New memo")
        person.page.get_by_label("Memo", exact=True).fill("Milk")
        self.heard(person.page)
        person.page.keyboard.type("Bread")
        self.assertFalse(person.page.evaluate("() => heard[0].isEnded"))

    def test_a_page_that_is_reloaded_before_zero_rings(self):
        person = self.person(seconds=8)
        person.press("Start focus")
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        person.page.reload()
        self.sees_end(person.page)
        self.heard(person.page)

    def test_a_page_that_nobody_has_pressed_says_so_and_is_silent(self):
        person = self.person(seconds=600)
        person.press("Start focus")
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        other = person.context.new_page()
        # What reads the page for these stories counts as a press.
        other.add_init_script("""(() => {
          let pressed = false;
          addEventListener("keydown", () => { pressed = true; }, true);
          Object.defineProperty(navigator, "userActivation", {
            get: () => ({ hasBeenActive: pressed, isActive: pressed }) });
        })()""")
        other.goto(person.url)
        expect(other.get_by_role("button", name="Pause")).to_be_visible()
        other.evaluate("() => document.querySelector('.alerts').open = true")
        hint = other.get_by_text("The browser lets this page sound once you have pressed")
        expect(hint).to_be_visible()
        other.get_by_role("heading", name="Timer").press("Shift")
        expect(hint).to_be_hidden()

    def test_a_person_chooses_a_sound_and_its_volume_for_all_devices(self):
        person = self.person()
        self.opens_alerts(person)
        page = person.page
        page.get_by_label("Chime").check()
        self.heard(page, 1)
        page.get_by_label("Volume").fill("20")
        quiet = self.heard(page, 2)[1]
        self.assertLess(quiet["gain"], page.evaluate("() => heard[0].gain"))
        # An older device, which does not know the fields, keeps them.
        laptop = self.relay.agent("laptop", person.show_code())
        laptop.run("timer", "settings", "set", "shortBreakMinutes=7")
        laptop.run("sync")
        other = self.visitor()
        other.context.add_init_script(LISTEN)
        other.pair(person.show_code())
        other.go("Timer")
        self.opens_alerts(other)
        expect(other.page.get_by_label("Chime")).to_be_checked()
        expect(other.page.get_by_label("Volume")).to_have_value("20")
        expect(other.page.get_by_label("Break (min)", exact=True)).to_have_value("7")

    def test_silence_is_for_all_devices_or_for_this_one(self):
        person = self.person()
        self.opens_alerts(person)
        person.page.get_by_label("Ring and vibrate at the end").uncheck()
        person.page.reload()
        person.is_in_sync()
        self.opens_alerts(person)
        expect(person.page.get_by_label("Ring and vibrate at the end")).not_to_be_checked()
        person.press("Start focus")
        self.sees_end(person.page)
        person.page.get_by_label("Ring and vibrate at the end").check()
        person.page.get_by_label("Silent").check()
        expect(person.page.get_by_label("Volume")).to_be_disabled()
        person.press("Start focus")
        self.sees_end(person.page)
        wait_until(lambda: person.page.evaluate("() => felt.length") == 1,
                   lambda: "it is not felt")
        self.assertEqual(person.page.evaluate("() => heard"), [])

    def test_of_two_pages_one_rings(self):
        person = self.person()
        other = person.another_tab()
        expect(other.get_by_role("button", name="Start focus")).to_be_visible()
        other.get_by_role("heading", name="Timer").click(force=True)
        person.press("Start focus")
        self.sees_end(person.page)
        self.sees_end(other)
        wait_until(lambda: sum(len(it.evaluate("() => heard")) for it in (person.page, other)) == 1,
                   lambda: "none rings, or both")

    def test_the_page_in_view_rings_not_the_hidden_one(self):
        person = self.person(seconds=8)
        hidden = person.another_tab()
        hidden.get_by_role("button", name="Start focus").click()
        hidden.evaluate("() => hide(true)")
        person.page.get_by_role("button", name="Pause").focus()
        person.page.keyboard.press("Shift")
        self.sees_end(person.page)
        self.heard(person.page)
        self.assertEqual(hidden.evaluate("() => heard"), [])

    def test_a_hidden_page_rings_at_zero_although_its_timers_are_slow(self):
        person = self.person(SLOW_WHEN_HIDDEN, seconds=4)
        person.press("Start focus")
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        person.page.evaluate("() => hide(true)")
        self.heard(person.page)

    def test_what_another_device_has_changed_does_not_ring(self):
        person = self.person(seconds=600)
        laptop = self.relay.agent("laptop", person.show_code())
        person.go("Timer")
        person.press("Start focus")
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        laptop.run("timer", "stop")
        laptop.run("sync")
        expect(person.page.get_by_role("button", name="Start focus")).to_be_visible()
        # A paused focus does not end either: the next end is the one that is heard.
        self.sets_focus(person, 8)
        person.press("Start focus")
        person.press("Pause")
        person.press("Resume")
        self.sees_end(person.page)
        self.heard(person.page)

    def person_who_is_notified(self):
        person = self.person(NOTIFICATIONS, seconds=6)
        person.context.grant_permissions(["notifications"], origin=person.url)
        self.opens_alerts(person)
        person.page.get_by_label("Notify me while another window is in front").check()
        return person

    def test_a_hidden_page_notifies_without_a_second_sound(self):
        person = self.person_who_is_notified()
        person.press("Start focus")
        person.page.evaluate("() => hide(true)")
        self.heard(person.page)
        wait_until(lambda: person.page.evaluate("() => shown.length") == 1,
                   lambda: "no notification")
        [shown] = person.page.evaluate("() => shown")
        self.assertEqual([shown["body"], shown["silent"], shown["data"]],
                         ["Focus is over. Time for a break.", True, {"view": "timer"}])
        person.page.evaluate("() => hide(false)")
        wait_until(lambda: person.page.evaluate("() => shown.length") == 0,
                   lambda: "the notification stays")

    def test_what_a_push_has_told_is_not_told_again(self):
        person = self.person_who_is_notified()
        person.press("Start focus")
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        person.page.evaluate("""() => {
          hide(true);
          shown.push({ tag: "lockstep changes", data: { view: "timer", at: Date.now() + 60_000 } });
        }""")
        self.sees_end(person.page)
        self.assertEqual(person.page.evaluate("() => [heard.length, felt.length, shown.length]"),
                         [0, 0, 1])

    def test_a_page_in_view_shows_no_notification(self):
        person = self.person_who_is_notified()
        person.press("Start focus")
        self.sees_end(person.page)
        self.heard(person.page)
        self.assertEqual(person.page.evaluate("() => shown"), [])

    def test_a_browser_that_blocks_notifications_says_so(self):
        person = self.person()
        person.context.grant_permissions(["geolocation"], origin=person.url)
        person.page.reload()
        person.is_in_sync()
        self.opens_alerts(person)
        expect(person.page.get_by_text("This browser blocks notifications")).to_be_visible()
        expect(person.page.get_by_label("Notify me while another window")).to_be_disabled()

    def test_the_screen_stays_on_while_a_countdown_runs(self):
        person = self.person(SCREEN, seconds=600)
        self.opens_alerts(person)
        person.page.get_by_label("Keep the screen on during a countdown").check()
        person.press("Start focus")
        wait_until(lambda: person.page.evaluate("() => locks") == 1, lambda: "the screen goes off")
        # A browser ends the lock of a hidden page.
        person.page.evaluate("() => { hide(true); endLock(); }")
        person.page.evaluate("() => hide(false)")
        wait_until(lambda: person.page.evaluate("() => locks") == 1, lambda: "the screen goes off")
        person.press("Pause")
        wait_until(lambda: person.page.evaluate("() => locks") == 0, lambda: "the screen stays on")

    def test_media_keys_pause_and_resume(self):
        person = self.person(MEDIA, seconds=600)
        person.press("Start focus")
        person.page.wait_for_function("() => media.playbackState === 'playing'")
        self.assertEqual(person.page.evaluate("() => media.metadata.title"), "Focus")
        person.page.evaluate("() => media.handlers.pause()")
        expect(person.page.get_by_role("button", name="Resume")).to_be_visible()
        self.assertEqual(person.page.evaluate("() => media.playbackState"), "paused")
        person.page.evaluate("() => media.handlers.play()")
        expect(person.page.get_by_role("button", name="Pause")).to_be_visible()
        person.press("Stop")
        person.page.wait_for_function("() => media.playbackState === 'none'")
        self.assertEqual(person.page.evaluate("() => media.handlers.pause"), None)

    def test_the_countdown_floats_above_other_windows(self):
        person = self.person(seconds=600)
        page = person.page
        person.press("Start focus")
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        person.press("Float the countdown")
        page.wait_for_function("() => documentPictureInPicture.window !== null")
        floating = page.evaluate_handle("() => documentPictureInPicture.window.document.body")
        clock = "(body) => body.querySelector('[role=timer]').textContent"
        before = page.evaluate(clock, floating)
        self.assertRegex(before, r"^(10:00|09:5\d)$")
        page.evaluate("() => hide(true)")
        wait_until(lambda: page.evaluate(clock, floating) != before, lambda: "it does not count")
        # Playwright does not give the files of `--pages` to a window of this kind.
        if not PAGES:
            wait_until(lambda: page.evaluate("(body) => getComputedStyle(body).margin", floating)
                       == "0px", lambda: "it has no style")
        page.evaluate("(body) => body.querySelector('button').click()", floating)
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        person.press("Float the countdown")
        page.wait_for_function("() => documentPictureInPicture.window === null")

    def test_each_sound_is_heard_is_not_distorted_and_does_not_click(self):
        person = self.visitor()
        person.open()
        for sound in ("bell", "chime", "marimba"):
            told = person.page.evaluate(RENDERED, sound)
            self.assertGreater(told["peak"], 0.2, sound)
            self.assertLess(told["peak"], 1, sound)
            self.assertLess(told["step"], 0.25, sound)
            self.assertGreater(told["seconds"], 0.5, sound)
            self.assertLess(told["seconds"], 2.9, sound)

    def test_the_card_is_for_all_and_fits_a_phone(self):
        for scheme in ("light", "dark"):
            person = self.person(color_scheme=scheme, viewport={"width": 320, "height": 568})
            self.opens_alerts(person)
            self.has_no_barrier(person, "sound and alerts")
            self.is_not_too_wide(person, "sound and alerts")
