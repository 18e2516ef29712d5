// When a press is meant: not at the moment a card came, not with a letter typed a moment ago. Refuses to answer by accident.
export const TOO_SOON = 400;
export const TYPED = 800;

let typed = 0;
addEventListener("keydown", (event) => {
  before = typed;
  typed = event.timeStamp;
}, true);
let before = 0;

export class Safety {
  private born = performance.now();

  /** Something that can be pressed came, went or moved. */
  moved(): void {
    this.born = performance.now();
  }

  click(): boolean {
    return performance.now() - this.born >= TOO_SOON;
  }

  /** The key that is being pressed is itself the last one typed: the one before it counts. */
  key(event: KeyboardEvent): boolean {
    return !event.repeat && event.timeStamp - Math.max(this.born, before) >= TYPED;
  }
}

export const inField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches("textarea, select, input:not([type=radio]):not([type=checkbox])"));
