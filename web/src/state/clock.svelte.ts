// Seconds as everything on the page counts them. They stand still while the hub is not heard, and while nobody looks.
class Clock {
  now = $state(Date.now() / 1000);
  stands = false;
}

export const clock = new Clock();

export function beat(): void {
  const now = Math.floor(Date.now() / 1000);
  if (!clock.stands && !document.hidden && now !== clock.now) clock.now = now;
}

setInterval(beat, 1000);
