#include "train/account/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>

#include "base/contract.hpp"
#include "base/error.hpp"
#include "base/file_handle.hpp"
#include "base/text/json_number.hpp"

namespace ziggurat::train {
namespace {

/// Appends the name of a row in the viewer.
void append_name(std::string& text, std::string_view what, int process, int thread, std::string_view name) {
    fmt::format_to(std::back_inserter(text), R"({{"ph":"M","name":"{}","pid":{},"tid":{},"args":{{"name":)",
                   what, process, thread);
    append_json_string(text, name);
    text += "}},\n";
}

/// Appends a time in microseconds, the viewers' unit. Three decimals keep every nanosecond.
void append_microseconds(std::string& text, std::int64_t nanoseconds) {
    fmt::format_to(std::back_inserter(text), "{}{}.{:03}", nanoseconds < 0 ? "-" : "",
                   std::abs(nanoseconds) / 1000, std::abs(nanoseconds) % 1000);
}

/// Distance between the row numbers of one lane.
constexpr int rows_apart = 1000;

/// Finds, for each record, the first row of its lane that is free when the record begins.
class Rows {
  public:
    explicit Rows(std::size_t num_lanes) : until_ns_(num_lanes) {}

    int row(const TraceRecord& record) {
        auto& rows = until_ns_.at(record.lane);
        std::size_t row = 0;
        while (row < rows.size() && rows[row] > record.begin_ns) {
            ++row;
        }
        if (row == rows.size()) {
            rows.push_back(record.end_ns);
        }
        rows[row] = record.end_ns;
        return static_cast<int>(row);
    }
    std::size_t num_rows(std::size_t lane) const { return until_ns_[lane].size(); }

  private:
    std::vector<std::vector<std::int64_t>> until_ns_;
};

void append_record(std::string& text, int process, std::int64_t step, int row, const TraceRecord& record) {
    text += R"({"ph":"X","name":)";
    append_json_string(text, record.name);
    fmt::format_to(std::back_inserter(text), R"(,"pid":{},"tid":{},"ts":)", process,
                   record.lane + rows_apart * row);
    append_microseconds(text, record.begin_ns);
    text += R"(,"dur":)";
    append_microseconds(text, std::max<std::int64_t>(record.end_ns - record.begin_ns, 0));
    fmt::format_to(std::back_inserter(text), R"(,"cat":"{}","args":{{"step":{})",
                   record.cause.empty() ? "work" : "wait", step);
    if (!record.cause.empty()) {
        text += R"(,"cause":)";
        append_json_string(text, record.cause);
    }
    if (record.bytes > 0) {
        fmt::format_to(std::back_inserter(text), R"(,"bytes":{})", record.bytes);
    }
    text += "}},\n";
}

}  // namespace

Trace::Trace(int rank, std::vector<std::string> lanes, int keep_steps)
    : Trace{TraceProcess{rank, fmt::format("rank {}", rank)}, std::move(lanes), keep_steps} {}

Trace::Trace(TraceProcess process, std::vector<std::string> lanes, int keep_steps)
    : process_{std::move(process)}, lanes_{std::move(lanes)}, steps_(keep_steps) {
    ZG_EXPECTS(keep_steps >= 1);
}

void Trace::begin_step(std::int64_t step) {
    current_ = (current_ + 1) % steps_.size();
    steps_[current_].number = step;
    steps_[current_].records.clear();
}

void Trace::add(const TraceRecord& record) {
    steps_[current_].records.push_back(record);
}

std::string Trace::json() const {
    const auto all = events();
    return trace_text({&all, 1});
}

std::string Trace::events() const {
    std::string text;
    append_name(text, "process_name", process_.id, 0, process_.name);
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        append_name(text, "thread_name", process_.id, static_cast<int>(lane), lanes_[lane]);
    }
    Rows rows{lanes_.size()};
    for (std::size_t i = 1; i <= steps_.size(); ++i) {
        const Step& step = steps_[(current_ + i) % steps_.size()];
        for (const TraceRecord& record : step.records) {
            append_record(text, process_.id, step.number, rows.row(record), record);
        }
    }
    for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
        for (std::size_t row = 1; row < rows.num_rows(lane); ++row) {
            append_name(text, "thread_name", process_.id, static_cast<int>(lane + rows_apart * row),
                        fmt::format("{} (concurrent)", lanes_[lane]));
        }
    }
    return text;
}

std::string trace_text(std::span<const std::string> events) {
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    for (const auto& some : events) {
        text += some;
    }
    ZG_EXPECTS(text.ends_with(",\n"));
    text.resize(text.size() - 2);
    text += "\n]}\n";
    return text;
}

void Trace::write(const std::string& path) const {
    const FileHandle file = open_for_writing(path, OpenMode::replace);
    if (const int failure = write_all(file.get(), json()); failure != 0) {
        throw Error{ErrorKind::resource, "cannot write '" + path + "' (" + std::strerror(failure) +
                                             "). Free some space, or set run.trace: false."};
    }
}

std::string trace_file_name(int rank) {
    return fmt::format("trace.rank{:04}.json", rank);
}

}  // namespace ziggurat::train
