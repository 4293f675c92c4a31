/// Helper process that renders conversations with Jinja.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "data/chat/chat_template.hpp"
#include "data/chat/template_engine.hpp"

namespace ziggurat::data {

/// JSON that keeps the order of keys, which templates print.
using ChatJson = nlohmann::ordered_json;

/// A range of bytes of the rendered text.
struct TextSpan {
    std::size_t begin = 0;
    std::size_t end = 0;

    bool operator==(const TextSpan&) const = default;
};

/// Messages [first, last) of a conversation.
struct MessageRange {
    std::int64_t first = 0;
    std::int64_t last = 0;

    bool operator==(const MessageRange&) const = default;
};

/// A conversation to render, and the messages whose text counts in the loss.
struct RenderRequest {
    ChatJson messages = ChatJson::array();
    ChatJson variables = ChatJson::object();  ///< such as tools; they override the special tokens
    bool has_tools = false;                   ///< selects ChatTemplate::tool_text
    bool asks_for_answer = false;             ///< add_generation_prompt
    /// All messages whose generation blocks count, for templates with such blocks.
    MessageRange marked = {};
    /// The same for other templates, as ranges whose text counts. Empty: no spans are requested.
    std::vector<MessageRange> turns = {};
    /// Messages that do not count although they are in `marked` or in a turn.
    std::vector<MessageRange> excluded = {};
    /// Spans of `turns` are found without the generation blocks of the template.
    bool ignores_blocks = false;
};

/// The text of a conversation, and the spans that count in the loss.
struct RenderedText {
    std::string text;
    std::vector<TextSpan> spans;  ///< in order
    /// Texts of excluded messages inside of a turn; if no turn is requested, of all excluded messages. Empty
    /// for spans of generation blocks, which omit these messages.
    std::vector<TextSpan> excluded;
    std::int64_t rendered_messages = 0;  ///< in all renderings that found the spans
};

/// Error about a template that renders no conversation, independent of the record.
class UnusableTemplate : public Error {
  public:
    explicit UnusableTemplate(const std::string& message) : Error{ErrorKind::deck, message} {}
};

/// Owns a Python process with the compiled templates. For one thread.
///
/// The process has a copy of transformers' environment of templates: sandboxed, without access to files. A
/// template that exceeds a limit is stopped, and the next conversation is rendered again.
class TemplateProcess {
  public:
    /// \param chat  must outlive this
    /// Errors: UnusableTemplate that names the file and line if the template is invalid; Error{resource} if
    ///         Python or its module jinja2 is missing
    TemplateProcess(const ChatTemplate& chat, TemplateEngine engine);
    ~TemplateProcess();
    TemplateProcess(const TemplateProcess&) = delete;
    TemplateProcess& operator=(const TemplateProcess&) = delete;

    SpanMethod span_method(bool has_tools) const;

    /// Errors: Error{deck} that names the template and its line if it fails, exceeds a limit, or does not
    ///         render the beginning of the conversation as a prefix; Error{resource} if the process cannot be
    ///         started again
    RenderedText render(const RenderRequest& request);

  private:
    void start();
    /// Starts one Python. Returns the reason why it cannot be used; empty if it is ready.
    std::string start_with(const std::string& python);
    void stop() noexcept;
    /// Sends a line and returns the answer; a null value if the process has ended or does not answer.
    ChatJson exchange(const std::string& line, double seconds);
    void send_line(const std::string& line, std::int64_t end_ns);
    bool receive_line(std::string& line, std::int64_t end_ns);
    std::size_t index_of(bool has_tools) const;
    const std::string& path_of(std::size_t index) const;
    std::string failure(std::size_t index, std::int64_t line, const std::string& reason) const;

    const ChatTemplate& chat_;
    TemplateEngine engine_;
    FileHandle socket_;
    pid_t process_ = -1;
    bool has_timed_out_ = false;
    std::vector<bool> is_marked_;  ///< by template: it has generation blocks
};

}  // namespace ziggurat::data
