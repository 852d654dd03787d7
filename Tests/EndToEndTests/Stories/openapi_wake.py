"""A registration for wakes that is valid, for scripts/openapi-check."""

# A point of the curve, which a schema cannot describe, and a host that does not exist.
WAKE = {
    "kind": "webpush", "endpoint": "https://push.invalid/1", "auth": "BTBZMqHH6r4Tts7J_aSIgg",
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"}

NOTIFICATION = {"title": "Notes", "navigate": "https://notes.example/"}
