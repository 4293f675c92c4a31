#include "plot/step_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "base/contract.hpp"
#include "base/text/printable.hpp"
#include "base/text/units.hpp"
#include "plot/page_head.hpp"
#include "plot/svg/svg_text.hpp"

namespace ziggurat::plot {
namespace {

// Pixels of the pictures.
constexpr double left = 220, width = 960, right = 20;
constexpr double lane_height = 18, axis_height = 22, curve_height = 90;
constexpr int num_ticks = 5;
constexpr double min_bar = 1;  ///< shorter bars are drawn together

constexpr const char* style =
    "<style>text{font:12px system-ui,sans-serif;fill:currentColor}.work{fill:#2f81f7}.wait{fill:#d29922}"
    ".axis{stroke:currentColor;stroke-opacity:.25}.curve{fill:#2f81f7;fill-opacity:.35;stroke:#2f81f7}"
    ".peak{stroke:#cf222e;stroke-dasharray:4 3}</style>\n";

class Picture {
  public:
    Picture(std::string& text, double seconds, double height, const std::string& label)
        : text_{text}, seconds_{seconds}, height_{height} {
        text_ += fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                             left + width + right, height_ + axis_height, escape_xml(label));
        for (int tick = 0; tick <= num_ticks; ++tick) {
            const double at = seconds_ * tick / num_ticks;
            add(R"(<line class="axis" x1="{0:.1f}" x2="{0:.1f}" y1="0" y2="{1:.1f}"/>)", x(at), height_);
            add(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x(at), height_ + 15,
                tick == num_ticks ? "end" : "middle", escape_xml(format_duration(at)));
        }
    }
    ~Picture() { text_ += "</svg>\n"; }
    Picture(const Picture&) = delete;
    Picture& operator=(const Picture&) = delete;

    template <class... Arguments>
    void add(fmt::format_string<Arguments...> form, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(text_), form, std::forward<Arguments>(arguments)...);
        text_ += '\n';
    }
    double x(double seconds) const { return left + width * std::clamp(seconds / seconds_, 0.0, 1.0); }

  private:
    std::string& text_;
    double seconds_;
    double height_;
};

/// Draws the bars of a lane; runs of short bars become one.
void add_bars(Picture& picture, const LaneBars& lane, double top) {
    for (std::size_t i = 0; i < lane.bars.size();) {
        const auto& first = lane.bars[i];
        const double from = picture.x(first.begin);
        double until = picture.x(first.end);
        std::size_t next = i + 1;
        while (next < lane.bars.size() && lane.bars[next].is_wait == first.is_wait &&
               (until - from < min_bar || picture.x(lane.bars[next].end) - until < min_bar) &&
               picture.x(lane.bars[next].begin) - until < min_bar) {
            until = std::max(until, picture.x(lane.bars[next].end));
            ++next;
        }
        const auto count = next - i;
        const auto more = count > 1 ? fmt::format(" and {} more", count - 1) : "";
        picture.add(
            R"(<rect class="{}" x="{:.2f}" y="{:.1f}" width="{:.2f}" height="{:.1f}"><title>{}{}: {} to {}</title></rect>)",
            first.is_wait ? "wait" : "work", from, top + 2, std::max(until - from, 0.3), lane_height - 4,
            escape_xml(printable(first.name)), more, escape_xml(format_duration(first.begin)),
            escape_xml(format_duration(lane.bars[next - 1].end)));
        i = next;
    }
}

void add_timeline(std::string& text, const StepTimeline& timeline, double seconds) {
    text += fmt::format("<h2>{}</h2>\n", escape_xml(printable(timeline.title)));
    Picture picture{text, seconds, lane_height * static_cast<double>(timeline.lanes.size()), timeline.title};
    double top = 0;
    for (const auto& lane : timeline.lanes) {
        picture.add(R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{}</text>)", left - 8, top + 13,
                    escape_xml(shortened_to(printable(lane.lane), left - 12)));
        add_bars(picture, lane, top);
        top += lane_height;
    }
}

void add_memory(std::string& text, const MemoryStrip& memory, double seconds) {
    const double max = std::max({memory.measured_peak, *std::ranges::max_element(memory.bytes), 1.0});
    const auto y = [&](double bytes) { return curve_height * (1 - 0.95 * bytes / max); };
    Picture picture{text, seconds, curve_height, memory.title};
    std::string points = fmt::format("{:.1f},{:.1f}", picture.x(0), curve_height);
    double before = 0;
    for (std::size_t i = 0; i < memory.seconds.size(); ++i) {
        const double at = picture.x(memory.seconds[i]);
        points += fmt::format(" {:.1f},{:.1f} {:.1f},{:.1f}", at, y(before), at, y(memory.bytes[i]));
        before = memory.bytes[i];
    }
    points += fmt::format(" {0:.1f},{1:.1f} {0:.1f},{2:.1f}", picture.x(memory.end), y(before), curve_height);
    picture.add(R"(<polygon class="curve" points="{}"/>)", points);
    const auto label = [&](double height, const std::string& words) {
        picture.add(R"(<text x="{:.0f}" y="{:.1f}" text-anchor="end">{}</text>)", left - 8, height,
                    escape_xml(words));
    };
    const auto bytes_of = [](double bytes) { return format_bytes(static_cast<std::int64_t>(bytes)); };
    label(14, memory.title);
    label(32, "planned " + bytes_of(*std::ranges::max_element(memory.bytes)));
    if (memory.measured_peak > 0) {
        picture.add(R"(<line class="peak" x1="{0:.0f}" x2="{1:.0f}" y1="{2:.1f}" y2="{2:.1f}"/>)", left,
                    left + width, y(memory.measured_peak));
        label(50, "measured " + bytes_of(memory.measured_peak));
    }
}

}  // namespace

std::string step_page_html(const StepPage& page) {
    ZG_EXPECTS(page.seconds > 0);
    auto text = fmt::format(page_head, escape_xml(printable(page.title)));
    text.insert(text.find("</head>"), style);
    text += "<div class=\"scroll\"><table>\n";
    for (const auto& [name, value] : page.facts) {
        text += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escape_xml(printable(name)),
                            escape_xml(printable(value)));
    }
    text += "</table></div>\n";
    for (const auto& timeline : page.timelines) {
        add_timeline(text, timeline, page.seconds);
    }
    if (!page.memory.empty()) {
        text += "<h2>Memory of each tier over the step</h2>\n";
    }
    for (const auto& memory : page.memory) {
        add_memory(text, memory, page.seconds);
    }
    return text + "</body>\n</html>\n";
}

}  // namespace ziggurat::plot
