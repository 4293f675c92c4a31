#include "data/chat/template_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/process/start_process.hpp"
#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "data/jinja/template_boundaries_impl.hpp"
#include "data/jinja/template_script_impl.hpp"
#include "data/jinja/template_spans_impl.hpp"

namespace ziggurat::data {
namespace {

constexpr int reported_columns = 300;
constexpr double seconds_for_start = 60;

/// Starts Python with `socket` as its standard input and output. Returns the process id, or -1 and sets
/// errno.
pid_t start_python(const std::string& python, int socket) {
    const auto script =
        std::string{template_environment} + template_boundaries + template_spans + template_main;
    return start_process({.command = {python, "-I", "-c", script}, .input = socket, .output = socket});
}

ChatJson tokens_json(const ChatTemplate& chat) {
    auto tokens = ChatJson::object();
    for (const auto& token : chat.special_tokens) {
        tokens[token.name] = token.is_list ? ChatJson(token.texts) : ChatJson(token.texts.front());
    }
    return tokens;
}

/// Waits until `socket` is ready for `event`. Returns false at `end_ns` or on an error.
bool wait_for(int socket, short event, std::int64_t end_ns) {
    for (;;) {
        const auto left_ms = (end_ns - monotonic_ns() + 999'999) / 1'000'000;
        pollfd asked{socket, event, 0};
        const int ready = left_ms > 0 ? ::poll(&asked, 1, static_cast<int>(left_ms)) : 0;
        if (ready >= 0 || errno != EINTR) {
            return ready > 0;
        }
    }
}

std::int64_t after_seconds(double seconds) {
    return monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
}

}  // namespace

TemplateProcess::TemplateProcess(const ChatTemplate& chat, TemplateEngine engine)
    : chat_{chat}, engine_{std::move(engine)} {
    try {
        start();
    } catch (...) {
        stop();
        throw;
    }
}

TemplateProcess::~TemplateProcess() {
    stop();
}

SpanMethod TemplateProcess::span_method(bool has_tools) const {
    return is_marked_[index_of(has_tools)] ? SpanMethod::generation_blocks : SpanMethod::prefix_rendering;
}

void TemplateProcess::start() {
    std::string first_reason;
    for (const auto& python : engine_.pythons) {
        const auto reason = start_with(python);
        if (reason.empty()) {
            return;
        }
        stop();
        first_reason = first_reason.empty() ? reason : first_reason;
    }
    throw Error{
        ErrorKind::resource,
        fmt::format("cannot render a chat template with '{}' ({}). Install Jinja for it (Debian: apt-get "
                    "install python3-jinja2), or set ZIGGURAT_PYTHON to a Python that has it.",
                    printable(engine_.pythons.front()), first_reason)};
}

std::string TemplateProcess::start_with(const std::string& python) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return std::strerror(errno);
    }
    socket_ = FileHandle{ends[0]};
    FileHandle other{ends[1]};
    process_ = start_python(python, other.get());
    if (process_ < 0) {
        return std::strerror(errno);
    }
    other = FileHandle{};  // so that the end of the process ends the stream
    ChatJson request;
    request["limits"] = {{"seconds", engine_.seconds},
                         {"output", engine_.max_characters},
                         {"memory", engine_.max_memory_bytes}};
    request["tokens"] = tokens_json(chat_);
    request["templates"] = ChatJson::array({chat_.text});
    if (!chat_.tool_text.empty()) {
        request["templates"].push_back(chat_.tool_text);
    }
    const auto answer = exchange(request.dump(), seconds_for_start);
    if (answer.contains("missing")) {
        return "it has no jinja2 3.1: " + for_display(answer["missing"].get<std::string>());
    }
    if (answer.contains("error")) {
        throw UnusableTemplate{failure(answer["template"].get<std::size_t>(),
                                       answer["line"].get<std::int64_t>(),
                                       answer["error"].get<std::string>())};
    }
    if (!answer.contains("marked")) {
        return has_timed_out_ ? fmt::format("no answer in {:.0f} s", seconds_for_start)
                              : "it ends without an answer";
    }
    is_marked_ = answer["marked"].get<std::vector<bool>>();
    return "";
}

void TemplateProcess::stop() noexcept {
    socket_ = FileHandle{};
    if (process_ > 0) {
        ::kill(process_, SIGKILL);
        wait_for_process(process_);
        process_ = -1;
    }
}

RenderedText TemplateProcess::render(const RenderRequest& request) {
    if (process_ < 0) {
        start();
    }
    const auto index = index_of(request.has_tools);
    ChatJson sent;
    sent["template"] = index;
    sent["messages"] = request.messages;
    sent["variables"] = request.variables;
    sent["asks"] = request.asks_for_answer;
    sent["first"] = request.marked.first;
    sent["last"] = request.marked.last;
    sent["ignores_blocks"] = request.ignores_blocks;
    sent["turns"] = ChatJson::array();
    for (const auto& turn : request.turns) {
        sent["turns"].push_back({turn.first, turn.last});
    }
    sent["excluded"] = ChatJson::array();
    for (const auto& excluded : request.excluded) {
        sent["excluded"].push_back({excluded.first, excluded.last});
    }
    const auto answer = exchange(sent.dump(), engine_.max_wait_seconds);
    if (answer.is_null()) {
        stop();
        const auto reason =
            has_timed_out_ ? fmt::format("it runs longer than {:g} s", engine_.max_wait_seconds)
                           : "the Python process that rendered it has ended, probably for lack of memory";
        throw Error{ErrorKind::deck, failure(index, 0, reason)};
    }
    if (answer.contains("error")) {
        throw Error{ErrorKind::deck,
                    failure(index, answer["line"].get<std::int64_t>(), answer["error"].get<std::string>())};
    }
    if (answer.contains("turn")) {
        const auto turn = answer["turn"].get<std::int64_t>();
        const auto part = answer["part"].get<std::string>();
        throw Error{
            ErrorKind::deck,
            fmt::format(
                "the loss of message {} (counted from 1) cannot be separated: the template '{}' {}. Use "
                "a template with {{% generation %}} blocks, or loss_on completion or all.",
                turn + 1, printable(path_of(index)),
                part == "empty" ? "renders no text for it"
                                : "renders the messages before it in another form when more follow")};
    }
    const auto spans_of = [&](const char* key) {
        std::vector<TextSpan> spans;
        for (const auto& span : answer[key]) {
            spans.push_back({span[0].get<std::size_t>(), span[1].get<std::size_t>()});
        }
        return spans;
    };
    return {.text = answer["text"].get<std::string>(),
            .spans = spans_of("spans"),
            .excluded = spans_of("excluded"),
            .rendered_messages = answer.value("rendered", std::int64_t{0})};
}

ChatJson TemplateProcess::exchange(const std::string& line, double seconds) {
    const auto end_ns = after_seconds(seconds);
    has_timed_out_ = false;
    std::string answer;
    // A process that ends early has answered without reading.
    send_line(line, end_ns);
    if (!receive_line(answer, end_ns)) {
        has_timed_out_ = monotonic_ns() >= end_ns;
        return nullptr;
    }
    auto json = ChatJson::parse(answer, nullptr, false);
    return json.is_discarded() ? ChatJson{} : json;
}

void TemplateProcess::send_line(const std::string& line, std::int64_t end_ns) {
    const std::string whole = line + "\n";
    for (std::size_t sent = 0; sent < whole.size();) {
        if (!wait_for(socket_.get(), POLLOUT, end_ns)) {
            return;
        }
        const auto part =
            ::send(socket_.get(), whole.data() + sent, whole.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (part < 0 && errno != EINTR && errno != EAGAIN) {
            return;
        }
        sent += part > 0 ? static_cast<std::size_t>(part) : 0;
    }
}

bool TemplateProcess::receive_line(std::string& line, std::int64_t end_ns) {
    std::array<char, 1 << 16> part{};
    while (!line.ends_with('\n')) {
        if (!wait_for(socket_.get(), POLLIN, end_ns)) {
            return false;
        }
        const auto got = ::recv(socket_.get(), part.data(), part.size(), MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN)) {
            return false;
        }
        line.append(part.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
    }
    return true;
}

std::size_t TemplateProcess::index_of(bool has_tools) const {
    return has_tools && !chat_.tool_text.empty() ? 1 : 0;
}

const std::string& TemplateProcess::path_of(std::size_t index) const {
    return index == 0 ? chat_.path : chat_.tool_path;
}

std::string TemplateProcess::failure(std::size_t index, std::int64_t line, const std::string& reason) const {
    return fmt::format("the chat template '{}'{} fails ({}). Correct the template or the record.",
                       printable(path_of(index)), line > 0 ? fmt::format(", line {},", line) : "",
                       shortened(printable(reason), reported_columns));
}

}  // namespace ziggurat::data
