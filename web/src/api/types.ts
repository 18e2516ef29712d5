// Made by tools/page_types.py from the hub's own structs; `make map` writes it anew.

export interface AllowedPrompt {
  tool: string;
  prompt?: string;
  rule?: string | null;
}
export interface Answer {
  behavior: "allow" | "deny";
  updated_input?: Record<string, unknown> | null;
  message?: string | null;
  interrupt?: boolean;
  remember?: Remember | null;
  shown?: string | null;
  plan?: "fresh" | "keep_ask" | "keep_edits" | "outline" | "revise" | "stop" | null;
  answers?: Record<string, string> | null;
  notes?: Record<string, string> | null;
  mode?: "acceptEdits" | "auto" | "bypassPermissions" | "default" | "dontAsk" | "plan" | null;
  for_seconds?: number | null;
  allowed_prompts?: AllowedPrompt[];
  content?: Record<string, unknown>[] | null;
  compact?: boolean;
  client_id?: string | null;
}
export interface ApiRetried {
  kind: "api_retried";
  attempt?: number;
  of?: number;
  delay_ms?: number;
  status?: number | null;
  error?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Archive {
  archived?: boolean;
  client_id?: string | null;
}
export interface AuditFilter {
  session?: string | null;
  tool?: string | null;
  tool_use?: string | null;
  behavior?: "allow" | "deny" | null;
  because?: "built_in" | "cli" | "grant" | "mode" | "person" | "policy" | "rule" | null;
  who?: string | null;
  door?: string | null;
  text?: string | null;
  since?: number | null;
  until?: number | null;
  wildcard?: boolean;
  outside?: boolean;
}
export interface ChangeRule {
  text?: string | null;
  behavior?: "allow" | "ask" | "deny" | null;
  scope?: "everywhere" | "folder" | "session" | null;
  place?: string | null;
  note?: string | null;
  enabled?: boolean | null;
  client_id?: string | null;
}
export interface ChangeSession {
  title?: string | null;
  tags?: string[] | null;
  archived?: boolean | null;
  client_id?: string | null;
}
export interface Command {
  client_id?: string | null;
}
export interface ContextCleared {
  kind: "context_cleared";
  cli_session?: string | null;
  why?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ContextCompacted {
  kind: "context_compacted";
  trigger?: string;
  before?: number | null;
  after?: number | null;
  summary?: string;
  error?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ContextCompacting {
  kind: "context_compacting";
  before?: number | null;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Control {
  subtype: string;
  client_id?: string | null;
  fields?: Record<string, unknown>;
  within?: number;
}
export interface CreateSession {
  cwd?: string | null;
  prompt?: string | null;
  content?: Record<string, unknown>[] | null;
  title?: string | null;
  tags?: string[];
  model?: string | null;
  permission_mode?: "acceptEdits" | "auto" | "bypassPermissions" | "default" | "dontAsk" | "plan" | null;
  for_seconds?: number | null;
  resume?: string | null;
  fork_of?: string | null;
  fork_at?: string | null;
  runner?: string | null;
  options?: SessionOptions;
  client_id?: string | null;
}
export interface EditPrompt {
  text?: string | null;
  content?: Record<string, unknown>[] | null;
  before?: string | null;
  client_id?: string | null;
}
export interface EndRule {
  client_id?: string | null;
}
export interface Failed {
  kind: "failed";
  text: string;
  code?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface FilesRewound {
  kind: "files_rewound";
  prompt: string;
  files?: string[];
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface FilesSaved {
  kind: "files_saved";
  files?: string[];
  failed?: Record<string, unknown>[];
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Fork {
  at?: string | null;
  prompt?: string | null;
  title?: string | null;
  client_id?: string | null;
}
export interface GrantEnded {
  kind: "grant_ended";
  rule: string;
  text: string;
  why?: string;
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Health {
  state: "degraded" | "ok";
  why: string;
  version: string;
  store: string;
  runner: string;
  claude: string;
  claude_found: boolean;
  sim: boolean;
  sessions: number;
  open_questions: number;
  started_at: number;
}
export interface Hit {
  session: string;
  seq: number;
  at: number;
  kind: string;
  snippet: string;
  title: string;
}
export interface HookRan {
  kind: "hook_ran";
  name?: string;
  on?: string;
  outcome?: string;
  output?: string;
  started?: boolean;
  stderr?: string;
  exit_code?: number | null;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Interrupt {
  client_id?: string | null;
}
export interface LineDropped {
  kind: "line_dropped";
  size: number;
  head?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface LinkLost {
  kind: "link_lost";
  why?: string;
  may_lack_lines?: boolean;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface LinkRestored {
  kind: "link_restored";
  may_lack_lines?: boolean;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Matches {
  total?: number;
  denied?: number;
  of?: number;
}
export interface McpChanged {
  kind: "mcp_changed";
  servers?: Record<string, unknown>[];
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Me {
  name: string;
  roles: string[];
  door: string;
}
export interface ModeChanged {
  kind: "mode_changed";
  mode: string;
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ModelChanged {
  kind: "model_changed";
  model: string;
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Mute {
  until?: number | null;
  muted?: boolean;
  client_id?: string | null;
}
export interface NewRule {
  text: string;
  behavior: "allow" | "ask" | "deny";
  scope?: "everywhere" | "folder" | "session";
  place?: string | null;
  note?: string;
  for_seconds?: number | null;
  uses?: number | null;
  client_id?: string | null;
}
export interface NewToken {
  name?: string;
  roles?: ("admin" | "answer" | "prompt" | "watch")[];
  kind?: "code" | "program";
  expires_in?: number | null;
  client_id?: string | null;
}
export interface Noted {
  kind: "noted";
  what?: string;
  text?: string;
  level?: string;
  cut?: boolean;
  tool_use?: string | null;
  raw?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Offer {
  scope: "everywhere" | "folder" | "session";
  places: string[];
  rules: string[];
  steps: Step[];
}
export interface Page {
  items: unknown[];
  next: string | number | null;
}
export interface Part {
  text: string;
  kind?: string;
  verdict?: string;
  because?: string;
  tags?: string[];
}
export interface Partial {
  block: string;
  kind: "text" | "thinking" | "tool_input";
  text: string;
  parent: string | null;
  tool: string;
}
export interface Problem {
  type?: string;
  title: string;
  status: number;
  detail: string;
  code?: string;
  by?: string | null;
  fields?: string[];
}
export interface ProcessEnded {
  kind: "process_ended";
  code?: number | null;
  why?: string;
  stderr?: string[];
  wanted?: boolean;
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ProcessStarted {
  kind: "process_started";
  pid?: number | null;
  runner?: string;
  argv?: string[];
  version?: string | null;
  resumed?: string | null;
  why?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Prompt {
  text?: string | null;
  content?: Record<string, unknown>[] | null;
  when?: "instead" | "next" | "now";
  client_id?: string | null;
}
export interface PromptChanged {
  kind: "prompt_changed";
  prompt: string;
  text?: string | null;
  cut?: boolean;
  before?: string | null;
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface PromptFailed {
  kind: "prompt_failed";
  prompt: string;
  reason?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface PromptLost {
  kind: "prompt_lost";
  prompt: string;
  reason?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface PromptQueued {
  kind: "prompt_queued";
  prompt: string;
  text?: string;
  cut?: boolean;
  images?: number;
  when?: "instead" | "next" | "now";
  by?: string;
  door?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface PromptSent {
  kind: "prompt_sent";
  prompt: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface PromptTaken {
  kind: "prompt_taken";
  prompt: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface PromptView {
  id: string;
  session: string;
  state: "done" | "failed" | "lost" | "queued" | "sent" | "taken" | "withdrawn";
  text: string;
  content: Record<string, unknown>[] | null;
  when: string;
  by: string;
  door: string;
  queued_at: number;
  sent_at: number | null;
  taken_at: number | null;
  done_at: number | null;
  reason: string;
  turn: number | null;
}
export interface PromptWithdrawn {
  kind: "prompt_withdrawn";
  prompt: string;
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface QuestionClosed {
  kind: "question_closed";
  question: string;
  fate: "answered" | "expired" | "lost" | "withdrawn";
  behavior?: "allow" | "deny" | null;
  by?: string;
  door?: string;
  message?: string;
  edited?: boolean;
  interrupt?: boolean;
  because?: string;
  because_kind?: string;
  rules?: string[];
  tool_use?: string | null;
  verdict?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface QuestionDelivered {
  kind: "question_delivered";
  question: string;
  delivered?: boolean;
  why?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface QuestionOpened {
  kind: "question_opened";
  question: string;
  asks: "choice" | "dialog" | "permission" | "plan";
  tool?: string;
  words?: string;
  asked?: Record<string, unknown>;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface QuestionView {
  id: string;
  session: string;
  asks: "choice" | "dialog" | "permission" | "plan";
  state: "answered" | "expired" | "lost" | "open" | "withdrawn";
  tool: string;
  does: string;
  title_words: string;
  line: string;
  description: string;
  input: Record<string, unknown>;
  tool_use: string | null;
  reason: string;
  blocked_path: string | null;
  suggestions: Record<string, unknown>[];
  parts: Part[];
  tags: string[];
  because: string;
  because_rule: string | null;
  offers: Offer[];
  once_only_because: string;
  before: Record<string, unknown> | null;
  hash: string;
  policy_deadline: number | null;
  plan: Record<string, unknown> | null;
  choices: Record<string, unknown>[] | null;
  origin: string | null;
  only_people: boolean;
  default_to_no: boolean;
  no_always: boolean;
  opened_at: number;
  closed_at: number | null;
  by: string;
  door: string;
  verdict: Record<string, unknown> | null;
  delivered_at: number | null;
  session_title: string;
  cwd: string;
  may_answer: boolean;
}
export interface RateLimitChanged {
  kind: "rate_limit_changed";
  status: string;
  resets_at?: number | null;
  limit?: string | null;
  utilization?: number | null;
  using_overage?: boolean | null;
  overage_status?: string | null;
  overage_reason?: string | null;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Receipt {
  ok: boolean;
  session: string | null;
  prompt: string | null;
  question: string | null;
  state: string;
  reply: Record<string, unknown> | null;
  message: string;
}
export interface Remember {
  suggestion?: number | null;
  rules?: string[];
  scope?: "everywhere" | "folder" | "session";
  place?: string | null;
  for_seconds?: number | null;
  uses?: number | null;
  turn?: boolean;
}
export interface Rename {
  title: string;
  client_id?: string | null;
}
export interface Rewind {
  prompt: string;
  dry_run?: boolean;
  files?: boolean;
  conversation?: boolean;
  client_id?: string | null;
}
export interface RuleLists {
  allow?: string[];
  ask?: string[];
  deny?: string[];
}
export interface RuleTest {
  tool?: string | null;
  input?: Record<string, unknown>;
  cwd?: string | null;
  session?: string | null;
  rules?: RuleLists | null;
  rule?: TriedRule | null;
  last?: number;
}
export interface RuleView {
  id: string;
  text: string;
  behavior: "allow" | "ask" | "deny";
  scope: "everywhere" | "folder" | "session";
  place: string;
  place_title: string;
  source: "built_in" | "cli" | "file" | "store";
  file: string;
  by: string;
  door: string;
  question: string | null;
  session: string | null;
  note: string;
  enabled: boolean;
  created_at: number;
  ends_at: number | null;
  uses_left: number | null;
  ends_with: "" | "session" | "turn";
  hits: number;
  hit_at: number | null;
  ended_at: number | null;
  ended_why: string;
  not_read: string;
}
export interface RunnerView {
  id: string;
  name: string;
  state: "live" | "lost";
  since: number;
  pid: number | null;
  version: string;
  processes: number;
  children: number;
  memory: number;
  held_lines: number;
  why: string;
}
export interface Seen {
  seq: number;
  client_id?: string | null;
}
export interface SessionChanged {
  kind: "session_changed";
  title?: string | null;
  tags?: string[] | null;
  archived?: boolean | null;
  cli_session?: string | null;
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface SessionCreated {
  kind: "session_created";
  cwd: string;
  title?: string;
  by?: string;
  door?: string;
  sim?: boolean;
  fork_of?: string | null;
  fork_at?: string | null;
  resume?: string | null;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface SessionOptions {
  append_system_prompt?: string | null;
  max_turns?: number | null;
  max_budget_usd?: number | null;
  fallback_model?: string | null;
  allowed_tools?: string[];
  disallowed_tools?: string[];
  add_dirs?: string[];
  env?: Record<string, string>;
  mcp_config?: string | null;
  settings?: string | null;
  allow_bypass?: boolean;
  keep_stream_events?: boolean;
  idle_after?: number | null;
  sim?: boolean;
}
export interface SessionView {
  id: string;
  title: string;
  status: "asleep" | "background" | "compacting" | "failed" | "idle" | "rate_limited" | "running_tool" | "starting" | "stopped" | "thinking" | "unreachable" | "waiting";
  why: string;
  status_at: number;
  group: "needs_you" | "quiet" | "working";
  fix: string;
  cwd: string;
  runner: string;
  model: string | null;
  mode: string | null;
  cost_usd: number;
  context_tokens: number;
  context_window: number | null;
  cli_session: string | null;
  cli_version: string | null;
  sim: boolean;
  tags: string[];
  archived: boolean;
  open_questions: number;
  queued: number;
  last_seq: number;
  seen: number;
  muted: boolean;
  fork_of: string | null;
  process: string | null;
  pid: number | null;
  children: number | null;
  memory: number | null;
  created_at: number;
  changed_at: number;
}
export interface SetEnvironment {
  variables?: Record<string, string>;
  client_id?: string | null;
}
export interface SetMode {
  mode: "acceptEdits" | "auto" | "bypassPermissions" | "default" | "dontAsk" | "plan";
  for_seconds?: number | null;
  client_id?: string | null;
}
export interface SetModel {
  model?: string | null;
  client_id?: string | null;
}
export interface SetThinking {
  max_thinking_tokens?: number | null;
  client_id?: string | null;
}
export interface SignIn {
  code: string;
  device?: string;
}
export interface SignInChanged {
  kind: "sign_in_changed";
  under_way?: boolean;
  output?: string[];
  error?: string | null;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Snapshot {
  session: SessionView;
  questions: QuestionView[];
  queue: PromptView[];
  partial: Partial[];
  todos: Record<string, unknown>[];
  tasks: Record<string, unknown>[];
  last_seq: number;
}
export interface StatusChanged {
  kind: "status_changed";
  status: "asleep" | "background" | "compacting" | "failed" | "idle" | "rate_limited" | "running_tool" | "starting" | "stopped" | "thinking" | "unreachable" | "waiting";
  why?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Step {
  rules: string[];
  warning?: string;
  still_asked_because?: string;
  matches?: Matches | null;
  also_answers?: string[];
}
export interface Stop {
  patience?: number;
  client_id?: string | null;
}
export interface StopRung {
  kind: "stop_rung";
  rung: string;
  by?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Suggestion {
  rules: string[];
  times: number;
  example: string;
  folder: string;
}
export interface Summary {
  since: number;
  questions: QuestionView[];
  finished: Record<string, unknown>[];
  failed: Record<string, unknown>[];
  cost_usd: number;
}
export interface TaskChanged {
  kind: "task_changed";
  task: string;
  title?: string | null;
  last_tool?: string | null;
  tools?: number | null;
  tokens?: number | null;
  status?: string | null;
  background?: boolean | null;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface TaskEnded {
  kind: "task_ended";
  task: string;
  status?: string;
  summary?: string;
  tool_use?: string | null;
  tools?: number | null;
  tokens?: number | null;
  output_file?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface TaskStarted {
  kind: "task_started";
  task: string;
  tool_use?: string | null;
  title?: string;
  does?: string;
  background?: boolean;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface TextEvent {
  kind: "text";
  text: string;
  cut?: boolean;
  block?: string;
  aborted?: boolean;
  error?: string | null;
  synthetic?: boolean;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface TextDelta {
  kind: "text_delta";
  block: string;
  text: string;
  begins?: number;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Thinking {
  kind: "thinking";
  text: string;
  cut?: boolean;
  block?: string;
  duration_ms?: number | null;
  redacted?: boolean;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ThinkingDelta {
  kind: "thinking_delta";
  block: string;
  text: string;
  begins?: number;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface TodosChanged {
  kind: "todos_changed";
  todos?: Record<string, unknown>[];
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface TokenView {
  id: string;
  name: string;
  roles: string[];
  kind: string;
  created_at: number;
  last_seen: number | null;
  expires_at: number | null;
  code: string | null;
  token: string | null;
}
export interface Tokens {
  input?: number;
  output?: number;
  cache_read?: number;
  cache_write?: number;
}
export interface ToolFinished {
  kind: "tool_finished";
  tool_use: string;
  tool?: string;
  failed?: boolean;
  title?: string;
  output?: string;
  cut?: boolean;
  summary?: string;
  by?: string | null;
  why?: string;
  images?: number;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ToolInputDelta {
  kind: "tool_input_delta";
  block: string;
  text: string;
  begins?: number;
  tool?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ToolProgressed {
  kind: "tool_progressed";
  tool_use: string;
  tool?: string;
  seconds?: number;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ToolStarted {
  kind: "tool_started";
  tool_use: string;
  tool: string;
  does: string;
  title: string;
  input?: Record<string, unknown>;
  cut?: boolean;
  block?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface ToolsSummarised {
  kind: "tools_summarised";
  text: string;
  tool_uses?: string[];
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface TrialLine {
  what: string;
  tool: string;
  before: string;
  after: string;
  decided: string;
  by: string;
  at: number;
  verdict: string;
  session: string;
}
export interface TrialView {
  total: number;
  more: number;
  fewer: number;
  denied: number;
  matches: number;
  conflicts: TrialLine[];
  lines: TrialLine[];
  words: string;
}
export interface TriedRule {
  text: string;
  behavior: "allow" | "ask" | "deny";
  scope?: "everywhere" | "folder" | "session";
  place?: string | null;
  instead?: string | null;
}
export interface TriedView {
  behavior: "allow" | "ask" | "deny";
  because: string;
  parts: Part[];
  tags: string[];
  rule: string | null;
}
export interface TurnEnded {
  kind: "turn_ended";
  turn: number;
  prompts?: string[];
  failed?: boolean;
  interrupted?: boolean;
  subtype?: string;
  text?: string;
  cut?: boolean;
  reasons?: string[];
  cost_usd?: number;
  duration_ms?: number | null;
  tokens?: Tokens | null;
  empty?: boolean;
  cut_off?: boolean;
  denials?: number;
  structured?: unknown;
  error?: string;
  advice?: string;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface TurnStarted {
  kind: "turn_started";
  turn: number;
  model?: string | null;
  mode?: string | null;
  tools?: string[] | null;
  cwd?: string | null;
  version?: string | null;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Unrecognised {
  kind: "unrecognised";
  what?: string;
  raw?: string;
  cut?: boolean;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface UsageReported {
  kind: "usage_reported";
  cost_usd?: number;
  context_tokens?: number;
  context_window?: number | null;
  models?: Record<string, Tokens>;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface UsageRow {
  key: string;
  turns: number;
  cost_usd: number;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  unknown: number;
}
export interface VerdictGiven {
  kind: "verdict_given";
  verdict: string;
  tool_use: string | null;
  tool: string;
  behavior: "allow" | "deny";
  because: string;
  because_kind?: string;
  rules?: string[];
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface VerdictView {
  id: string;
  at: number;
  session: string;
  session_title: string;
  tool: string;
  tool_use: string | null;
  what: string;
  behavior: "allow" | "deny";
  because_kind: "built_in" | "cli" | "grant" | "mode" | "person" | "policy" | "rule";
  because_id: string;
  because: string;
  by: string;
  door: string;
  question: string | null;
  rules: string[];
  parts: Part[];
  message: string;
  input: Record<string, unknown>;
  ran: Record<string, unknown> | null;
  hash: string;
  cwd: string;
  turn: number | null;
  seq: number | null;
  delivered: boolean | null;
}
export interface Wake {
  client_id?: string | null;
}
export interface Warned {
  kind: "warning";
  text: string;
  code?: string;
  prompt?: string | null;
  session: string;
  seq: number;
  at: number;
  parent?: string | null;
  process?: string | null;
  line?: number | null;
  part?: number;
}
export interface Why {
  verdict: VerdictView;
  words: string;
  rule: RuleView | null;
  others: number;
  mode: string;
  ends_it: string;
}
export interface Withdraw {
  client_id?: string | null;
}
export type AnyEvent = ApiRetried | ContextCleared | ContextCompacted | ContextCompacting | Failed | FilesRewound | FilesSaved | GrantEnded | HookRan | LineDropped | LinkLost | LinkRestored | McpChanged | ModeChanged | ModelChanged | Noted | ProcessEnded | ProcessStarted | PromptChanged | PromptFailed | PromptLost | PromptQueued | PromptSent | PromptTaken | PromptWithdrawn | QuestionClosed | QuestionDelivered | QuestionOpened | RateLimitChanged | SessionChanged | SessionCreated | SignInChanged | StatusChanged | StopRung | TaskChanged | TaskEnded | TaskStarted | TextDelta | TextEvent | Thinking | ThinkingDelta | TodosChanged | ToolFinished | ToolInputDelta | ToolProgressed | ToolStarted | ToolsSummarised | TurnEnded | TurnStarted | Unrecognised | UsageReported | VerdictGiven | Warned;
export interface Verbs {
  create: { body: CreateSession; needs: never };
  prompt: { body: Prompt; needs: "session" };
  edit_prompt: { body: EditPrompt; needs: "session" | "prompt" };
  withdraw: { body: Withdraw; needs: "session" | "prompt" };
  interrupt: { body: Interrupt; needs: "session" };
  stop: { body: Stop; needs: "session" };
  wake: { body: Wake; needs: "session" };
  fork: { body: Fork; needs: "session" };
  rewind: { body: Rewind; needs: "session" };
  mode: { body: SetMode; needs: "session" };
  model: { body: SetModel; needs: "session" };
  thinking: { body: SetThinking; needs: "session" };
  environment: { body: SetEnvironment; needs: "session" };
  change: { body: ChangeSession; needs: "session" };
  control: { body: Control; needs: "session" };
  seen: { body: Seen; needs: "session" };
  mute: { body: Mute; needs: "session" };
  answer: { body: Answer; needs: "question" };
  add_rule: { body: NewRule; needs: never };
  change_rule: { body: ChangeRule; needs: "rule" };
  end_rule: { body: EndRule; needs: "rule" };
}
