/// Python program that renders chat templates with Jinja.
#pragma once

namespace ziggurat::data {

/// Beginning of the program: environment of templates, and render().
///
/// The environment is that of transformers: the same options, filters, functions and `generation` blocks.
///
/// Source: transformers 4.46.3, utils/chat_template_utils.py
inline constexpr const char* template_environment = R"python(
import bisect, json, re, resource, signal, sys
from datetime import datetime

out = sys.stdout.buffer
sys.stdout = sys.stderr


def answer(**fields):
    out.write(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
    out.flush()


class LimitReached(BaseException):
    """Not an Exception, so that no code of the template can catch it."""


try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
    if tuple(int(part) for part in jinja2.__version__.split(".")[:2]) < (3, 1):
        raise ImportError("version " + jinja2.__version__)
except ImportError as problem:
    answer(missing=str(problem))
    sys.exit(0)


class GenerationBlocks(jinja2.ext.Extension):
    tags = {"generation"}

    def __init__(self, environment):
        super().__init__(environment)
        self.done = 0
        self.spans = []

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_mark"), [], [], body).set_lineno(line)

    def _mark(self, caller):
        text = caller()
        self.spans.append((self.done, text))
        return text


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[GenerationBlocks, jinja2.ext.loopcontrols])
environment.filters["tojson"] = to_json
environment.globals["raise_exception"] = refuse
environment.globals["strftime_now"] = lambda form: datetime.now().strftime(form)
blocks = next(part for part in environment.extensions.values() if isinstance(part, GenerationBlocks))


def line_of(problem):
    line = getattr(problem, "lineno", None) or 0
    trace = problem.__traceback__
    while trace is not None:
        template = trace.tb_frame.f_globals.get("__jinja_template__")
        if template is not None:
            line = template.get_corresponding_lineno(trace.tb_lineno)
        trace = trace.tb_next
    return line


def fail(problem):
    kind = type(problem).__name__
    if isinstance(problem, MemoryError):
        text = "it needs more than {} MiB of memory".format(limits["memory"] >> 20)
    elif isinstance(problem, RecursionError):
        text = "its calls are nested too deeply"
    elif isinstance(problem, (jinja2.exceptions.TemplateError, LimitReached)):
        text = str(problem) or kind
    else:
        text = "{}: {}".format(kind, problem)
    answer(error=text[:2000], line=line_of(problem))


class Rendered:
    messages = 0  # number of messages in all renderings of a conversation


rendered = Rendered()


def render(template, messages, asks, variables):
    """Returns the text, and the texts of generation blocks with their begins."""
    rendered.messages += len(messages)
    blocks.done, blocks.spans = 0, []
    named = dict(variables, messages=messages, add_generation_prompt=asks)
    parts = []
    made = template.root_render_func(template.new_context(named))
    for part in made:
        parts.append(part)
        blocks.done += len(part)
        if blocks.done > limits["output"]:
            problem = LimitReached("its text has more than {} characters".format(limits["output"]))
            problem.lineno = template.get_corresponding_lineno(made.gi_frame.f_lineno)
            raise problem
    text = "".join(parts)
    for begin, marked in blocks.spans:
        if text[begin:begin + len(marked)] != marked:
            refuse("a generation block is inside of a macro, a set block or a filter block")
    return text, [(begin, begin + len(marked)) for begin, marked in blocks.spans]
)python";

/// End of the program, which answers requests.
///
/// Reads a request as JSON from each line of its standard input, and prints an answer on a line.
///
/// First request: templates, limits. Others: a conversation, the template's number, and the turns whose spans
/// are requested. Answers have `error` and `line` if they fail. Spans are in bytes of UTF-8.
inline constexpr const char* template_main = R"python(
def stop(signal_number, frame):
    raise LimitReached("it runs longer than {:g} s".format(limits["seconds"]))


request = json.loads(sys.stdin.buffer.readline())
limits, special_tokens = request["limits"], request["tokens"]
resource.setrlimit(resource.RLIMIT_AS, (limits["memory"], limits["memory"]))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
signal.signal(signal.SIGINT, signal.SIG_IGN)
signal.signal(signal.SIGPROF, stop)
templates, is_marked = [], []
try:
    for text in request["templates"]:
        signal.setitimer(signal.ITIMER_PROF, limits["seconds"])
        templates.append(environment.from_string(text))
        is_marked.append(re.search(r"\{%[-+]?\s*generation\s*[-+]?%\}", text) is not None)
    signal.setitimer(signal.ITIMER_PROF, 0)
    answer(marked=is_marked)
except (Exception, LimitReached) as problem:
    answer(template=len(templates), error=str(problem) or type(problem).__name__, line=line_of(problem))
    sys.exit(0)
for line in sys.stdin.buffer:
    try:
        request = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, limits["seconds"])
        fields = render_conversation(request)
        signal.setitimer(signal.ITIMER_PROF, 0)
        answer(**fields)
    except (Exception, LimitReached) as problem:
        signal.setitimer(signal.ITIMER_PROF, 0)
        fail(problem)
)python";

}  // namespace ziggurat::data
