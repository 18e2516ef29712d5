// What every form of a card is given.
import type { Answer, QuestionView } from "../api/types";

export interface Controls {
  allow?: () => void;
  deny?: () => void;
  scope?: (n: number) => void;
  edit?: () => void;
  why?: () => void;
}
export interface FormProps {
  question: QuestionView;
  /** Carries it out unless the press came too soon to be meant. */
  press: (act: () => void) => void;
  send: (answer: Answer) => void;
  busy: boolean;
  watch?: boolean;
  controls: Controls;
}
