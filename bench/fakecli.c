/* The CLI that every contender reads in the bench: canned lines, written as fast as the pipe takes them. Refuses to parse JSON or to measure.
 *
 * It never blocks on its output while input waits: a reader that stopped reading can still be heard, so an interrupt that goes
 * unanswered is the reader's doing. What to do comes inside a prompt's text:
 *     bench:stream FILE COUNT   the first COUNT lines of FILE (from the top again when it is shorter), then the result that ends it
 *     bench:ask COUNT           COUNT permission questions, each after the answer to the one before, then that result
 *     bench:pace RATE COUNT W   COUNT lines, RATE a second, each with the time at which it was written, then that result;
 *                               W: "text" for whole blocks, "delta" for pieces of one block
 * Every control_request is answered with success; --version answers and exits; end of input ends it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ENDS \
    "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"duration_ms\":1,\"duration_api_ms\":1,\"num_turns\":1," \
    "\"result\":\"bench:end\",\"stop_reason\":\"end_turn\",\"session_id\":\"5e551000-0000-4000-8000-00000000beac\"," \
    "\"total_cost_usd\":0.01,\"usage\":{\"input_tokens\":1,\"output_tokens\":1},\"modelUsage\":{},\"permission_denials\":[]," \
    "\"uuid\":\"5e551000-0000-4000-8000-00000000e4d0\"}\n"

static char *queue;           /* short lines that wait to be written */
static size_t queued, written, room;

static char *text;            /* the file being streamed, mapped */
static size_t size, at, upto; /* at..upto: whole lines that are being written now */
static long lines_left;       /* lines after upto */
static int streaming;

static long paced, pace_left; /* timed lines: how many a second, how many still */
static long long pace_from;   /* nanoseconds of the monotonic clock, at which the first was due */
static long pace_said;
static int pace_deltas;

static long questions;        /* still to ask */
static long asked;

static void say(const char *words, size_t n) {
    if (queued + n > room) {
        room = (queued + n) * 2;
        queue = realloc(queue, room);
        if (!queue) exit(3);
    }
    memcpy(queue + queued, words, n);
    queued += n;
}

static void ask(void) {
    char line[1400];
    int n = snprintf(line, sizeof line,
        "{\"type\":\"control_request\",\"request_id\":\"9f0c%04lx-30ab-4c05-ae86-a4f39bb572f2\",\"request\":{\"subtype\":\"can_use_tool\","
        "\"tool_name\":\"Bash\",\"display_name\":\"Bash\",\"input\":{\"command\":\"make -C build test-%ld\",\"description\":\"run a test\"},"
        "\"description\":\"run a test\",\"permission_suggestions\":[{\"type\":\"addRules\",\"rules\":[{\"toolName\":\"Bash\","
        "\"ruleContent\":\"make -C build test-%ld\"}],\"behavior\":\"allow\",\"destination\":\"localSettings\"},{\"type\":\"setMode\","
        "\"mode\":\"acceptEdits\",\"destination\":\"session\"}],\"tool_use_id\":\"toolu_%08ld\"}}\n",
        asked & 0xffff, asked, asked, asked);
    asked++;
    say(line, (size_t)n);
}

static long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long long)t.tv_sec * 1000000000LL + t.tv_nsec;
}

#define SESSION "\"session_id\":\"5e551000-0000-4000-8000-00000000beac\""
#define STREAMED(event) "{\"type\":\"stream_event\",\"event\":" event "," SESSION ",\"parent_tool_use_id\":null,\"uuid\":\"5e551000-0000-4000-8000-%012lx\"}\n"

static void say_line(const char *shape, long number, long long at) {
    char line[1400];
    int n = at ? snprintf(line, sizeof line, shape, number, at, number) : snprintf(line, sizeof line, shape, number);
    say(line, (size_t)n);
}

static void begin_pace(long rate, long count, int deltas) {
    paced = rate, pace_left = count, pace_deltas = deltas, pace_said = 0, pace_from = now_ns();
    say_line("{\"type\":\"system\",\"subtype\":\"init\",\"cwd\":\"/\",\"tools\":[],\"mcp_servers\":[],\"model\":\"claude-opus-5-5\",\"permissionMode\":\"default\","
             "\"slash_commands\":[],\"claude_code_version\":\"2.1.326\"," SESSION ",\"uuid\":\"5e551000-0000-4000-8000-%012lx\"}\n", 1, 0);
    if (!deltas) return;
    say_line(STREAMED("{\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[],"
                      "\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}"), 2, 0);
    say_line(STREAMED("{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}"), 3, 0);
}

/* All lines that are due; returns the milliseconds until the next is. */
static int keep_pace(void) {
    long long now;
    while (pace_left > 0 && (now = now_ns()) >= pace_from + pace_said * 1000000000LL / paced) {
        pace_said++, pace_left--;
        if (pace_deltas)
            say_line("{\"type\":\"stream_event\",\"event\":{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"piece %ld at=%lld; \"}},"
                     SESSION ",\"parent_tool_use_id\":null,\"uuid\":\"5e551000-0000-4000-8001-%012lx\"}\n", pace_said, now);
        else
            say_line("{\"type\":\"assistant\",\"message\":{\"id\":\"msg_%ld\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[{\"type\":\"text\","
                     "\"text\":\"at=%lld; the rope is laid from three strands and each strand from many yarns\"}],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,"
                     "\"output_tokens\":1}},\"parent_tool_use_id\":null," SESSION ",\"uuid\":\"5e551000-0000-4000-8002-%012lx\"}\n", pace_said, now);
        if (pace_left == 0) {
            if (pace_deltas)
                say_line("{\"type\":\"assistant\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"claude-opus-5-5\",\"content\":[{\"type\":\"text\","
                         "\"text\":\"all of it\"}],\"stop_reason\":null},\"parent_tool_use_id\":null," SESSION ",\"uuid\":\"5e551000-0000-4000-8003-%012lx\"}\n", 1, 0);
            say(ENDS, sizeof ENDS - 1);
        }
    }
    if (pace_left <= 0) return -1;
    long long left = pace_from + pace_said * 1000000000LL / paced - now_ns();
    return left <= 0 ? 0 : (int)(left / 1000000) + 1;
}

static void open_file(const char *path, long count) {
    struct stat st;
    int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) != 0) { perror(path); exit(2); }
    size = (size_t)st.st_size;
    text = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    close(fd);
    if (text == MAP_FAILED) { perror(path); exit(2); }
    at = upto = 0;
    lines_left = count;
    streaming = 1;
}

/* The next lines to write, at least one and about 64 KiB: between two such pieces answers may go out. */
static void next_piece(void) {
    if (upto == size) upto = 0;
    at = upto;
    while (lines_left > 0 && upto < size && upto - at < 65536) {
        char *end = memchr(text + upto, '\n', size - upto);
        if (!end) { fputs("bench: the file must end with a newline\n", stderr); exit(2); }
        upto = (size_t)(end - text) + 1;
        lines_left--;
    }
}

/* The value of "request_id", as it stands between its quotes; requests of all contenders have it as a string. */
static int request_id(const char *line, char *id, size_t n) {
    const char *p = strstr(line, "\"request_id\"");
    if (!p || !(p = strchr(p + 12, '"'))) return 0;
    const char *q = strchr(++p, '"');
    if (!q || (size_t)(q - p) >= n) return 0;
    memcpy(id, p, (size_t)(q - p));
    id[q - p] = 0;
    return 1;
}

static void answer(const char *line) {
    char id[200], reply[900];
    if (!request_id(line, id, sizeof id)) return;
    const char *body = strstr(line, "\"initialize\"")
        ? "{\"commands\":[{\"name\":\"compact\",\"description\":\"shorten the conversation\",\"argumentHint\":\"\"}],\"output_style\":\"default\","
          "\"available_output_styles\":[\"default\"],\"models\":[{\"value\":\"default\",\"displayName\":\"Default\",\"description\":\"the default\"}],"
          "\"account\":{\"tokenSource\":\"none\"},\"agents\":[],\"claude_code_version\":\"2.1.326\",\"current_permission_mode\":\"default\"}"
        : "{}";
    int n = snprintf(reply, sizeof reply,
        "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"%s\",\"response\":%s}}\n", id, body);
    say(reply, (size_t)n);
}

static void take(char *line) {
    char *p;
    if (strstr(line, "\"control_request\"")) {
        answer(line);
    } else if (strstr(line, "\"control_response\"")) {
        if (questions > 0 && strstr(line, "\"behavior\"")) {
            if (--questions > 0) ask();
            else say(ENDS, sizeof ENDS - 1);
        }
    } else if ((p = strstr(line, "bench:stream "))) {
        char path[4096];
        long count;
        if (sscanf(p, "bench:stream %4095s %ld", path, &count) == 2) open_file(path, count);
    } else if ((p = strstr(line, "bench:pace "))) {
        char what[16];
        long rate, count;
        if (sscanf(p, "bench:pace %ld %ld %15[a-z]", &rate, &count, what) == 3 && rate > 0) begin_pace(rate, count, what[0] == 'd');
    } else if ((p = strstr(line, "bench:ask "))) {
        questions = strtol(p + 10, NULL, 10);
        ask();
    }
}

static ssize_t put(const char *words, size_t n) {
    ssize_t w = write(1, words, n);
    if (w >= 0) return w;
    if (errno == EAGAIN || errno == EINTR) return 0;
    exit(0);
}

/* Short lines go between two pieces of the file, never into the midst of a line. */
static void flush_once(void) {
    if (streaming && at < upto) {
        at += (size_t)put(text + at, upto - at);
    } else if (written < queued) {
        written += (size_t)put(queue + written, queued - written);
        if (written == queued) written = queued = 0;
    } else if (lines_left > 0) {
        next_piece();
    } else if (streaming) {
        streaming = 0;
        munmap(text, size);
        say(ENDS, sizeof ENDS - 1);
    }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-v")) { puts("2.1.326 (Claude Code)"); return 0; }
    size_t cap = 1 << 16, have = 0;
    char *in = malloc(cap + 1);
    if (!in) return 3;
    fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
    for (;;) {
        int left = pace_left > 0 ? keep_pace() : -1;
        int wants = streaming || written < queued;
        struct pollfd fds[2] = {{0, POLLIN, 0}, {wants ? 1 : -1, POLLOUT, 0}};
        if (poll(fds, 2, left) < 0 && errno != EINTR) return 3;
        if (fds[0].revents) {
            if (have == cap) { cap *= 2; in = realloc(in, cap + 1); if (!in) return 3; }
            ssize_t n = read(0, in + have, cap - have);
            if (n == 0) return 0;
            if (n < 0) { if (errno == EINTR || errno == EAGAIN) continue; return 3; }
            have += (size_t)n;
            char *start = in, *nl;
            while ((nl = memchr(start, '\n', have - (size_t)(start - in)))) {
                *nl = 0;
                take(start);
                start = nl + 1;
            }
            have -= (size_t)(start - in);
            memmove(in, start, have);
        }
        if (streaming || written < queued) flush_once();
    }
}
