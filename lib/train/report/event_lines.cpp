#include "train/report/event_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text/printable.hpp"
#include "base/text/text_width.hpp"
#include "base/text/units.hpp"

namespace ziggurat::train {

std::string skipped_line(const StepReport& report, int columns) {
    const char* what =
        std::isfinite(report.loss.value_or(0)) ? "the gradient is not finite" : "the loss is not finite";
    const auto head = fmt::format("step {} SKIPPED", report.step);
    const auto reason = fmt::format("{}: {}", head, what);
    const auto values = fmt::format(
        "loss {}, norm {:.3g}", report.loss ? fmt::format("{:.4g}", *report.loss) : "n/a", report.grad_norm);
    const auto count = fmt::format("{} skipped so far", report.skipped);
    std::string line = fmt::format("{}, so the weights are unchanged ({}; {})", reason, values, count);
    for (const auto& shorter : {fmt::format("{} ({}; {})", reason, values, count),
                                fmt::format("{} ({})", reason, count), reason, head}) {
        if (columns <= 0 || text_width(line) <= columns) {
            break;
        }
        line = shorter;
    }
    return line;
}

std::string spike_line(const StepReport& report, int columns) {
    const auto head = fmt::format("step {} SPIKE", report.step);
    const auto values =
        fmt::format("{}: loss {:.4g} (z {:.1f}), norm {:.3g} (z {:.1f})", head, report.loss.value_or(0),
                    report.loss_z, report.grad_norm, report.grad_norm_z);
    std::string line = fmt::format(
        "{}; {}", values,
        report.is_skipped ? fmt::format("its update is skipped ({} skipped so far)", report.skipped)
                          : std::string{"its update is applied (train.spikes.action: warn)"});
    for (const auto& shorter : {values, head}) {
        if (columns <= 0 || text_width(line) <= columns) {
            break;
        }
        line = shorter;
    }
    return line;
}

std::string epoch_line(std::int64_t step, const BegunEpoch& begun, int columns) {
    const auto line =
        fmt::format("epoch {} of '{}' begins in step {}", begun.epoch, printable(begun.source), step);
    return columns <= 0 || text_width(line) <= columns
               ? line
               : fmt::format("epoch {} of a source begins in step {}", begun.epoch, step);
}

bool is_epoch_printed(std::int64_t epoch) {
    while (epoch >= 10 && epoch % 10 == 0) {
        epoch /= 10;
    }
    return epoch < 10;
}

StyledText validation_line(const ValidationReport& report, std::int64_t total_steps, int columns) {
    StyledText line;
    line.add("validate", Style::heading);
    if (!report.loss) {
        line.add(fmt::format(" {}/{} | no target tokens", report.step, total_steps));
        return line;
    }
    line.add(fmt::format(" {}/{} | loss {:.4f}", report.step, total_steps, *report.loss));
    std::vector<std::string> parts;
    if (report.is_of_average || report.average_loss) {
        line.add(report.average_loss ? fmt::format(" (average {:.4f})", *report.average_loss)
                                     : " of the average");
    }
    if (report.rewards) {
        parts = {fmt::format(" | accuracy {:.1f}%", 100 * report.rewards->accuracy),
                 fmt::format(", margin {:.4f}", report.rewards->margin()),
                 fmt::format(" | {} pairs", format_grouped(report.loss_tokens))};
    } else {
        parts = {" nats/token", fmt::format(" ({:.4f} bits)", *report.loss / std::log(2.0)),
                 fmt::format(" | {} tokens", format_grouped(report.loss_tokens))};
    }
    parts.push_back(fmt::format(" | {}", format_duration(report.seconds)));
    for (const auto& part : parts) {
        if (columns > 0 && static_cast<int>(line.plain().size() + part.size()) > columns) {
            break;
        }
        line.add(part);
    }
    for (std::size_t i = 0; i < report.loss_by_source.size(); ++i) {
        const auto& source = report.loss_by_source[i];
        const auto mean = source.mean();
        const auto loss = mean ? fmt::format("{:.4f}", *mean) : source.tokens == 0 ? "no targets" : "nan";
        const auto part = fmt::format("{}{} {}", i == 0 ? " | " : ", ", printable(source.name), loss);
        if (columns > 0 && text_width(line.plain()) + text_width(part) > columns) {
            line.add(i == 0 ? "" : ", ...");
            break;
        }
        line.add(part);
    }
    return line;
}

std::string sample_block(
    std::int64_t step, std::string_view prompt, std::string_view sampled, double temperature, int columns) {
    const std::string text = printable(sampled, Newlines::kept);
    const auto head = [&](const std::string& shown) {
        return fmt::format("sample after step {}, prompt \"{}\", temperature {:g}:", step, shown,
                           temperature);
    };
    const std::string safe = printable(prompt);
    std::string block = head(safe);
    if (columns > 0 && text_width(block) > columns) {
        block = head(shortened(safe, std::max(0, columns - text_width(head("")))));
    }
    block += '\n';
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        block += "  | " + text.substr(begin, end - begin) + "\n";
        begin = end + 1;
    }
    return block;
}

}  // namespace ziggurat::train
