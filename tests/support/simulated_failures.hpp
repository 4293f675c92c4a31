/// Simulation of jobs whose nodes fail, event by event.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "plan/goodput.hpp"

namespace ziggurat::test {

/// Number of simulated jobs of a mean.
inline constexpr int num_simulated_jobs = 10'000;

/// Time of one job, and its failures.
class FailureClock {
  public:
    FailureClock(double mean, std::mt19937_64& random) : mean_{mean}, random_{random} { draw(); }

    double now() const noexcept { return now_; }
    /// Advances by `seconds`, or up to the next failure; returns the seconds until that failure, else -1.
    double advance(double seconds) {
        if (next_ >= now_ + seconds) {
            now_ += seconds;
            return -1;
        }
        const double passed = next_ - now_;
        now_ = next_;
        draw();
        return passed;
    }

  private:
    void draw() {
        const double uniform = static_cast<double>(random_() >> 11) * 0x1p-53;
        next_ = now_ - mean_ * std::log1p(-uniform);
    }

    double mean_;
    std::mt19937_64& random_;
    double now_ = 0;
    double next_ = 0;
};

/// Returns the seconds in which a job saves `saves` times, each after `work` productive seconds.
///
/// They begin when the copy of an earlier save is complete, and its write in the background begins.
inline double simulated_job_seconds(const plan::FailureTimes& times,
                                    double work,
                                    int saves,
                                    std::mt19937_64& random) {
    FailureClock clock{times.between_failures, random};
    int reached = 1;         // saves whose copy is complete
    int complete = 0;        // saves that a restart can read
    bool is_writing = true;  // the newest copy is written in the background
    while (reached <= saves) {
        const double write = is_writing ? times.written_in_background : 0;
        const double failure = clock.advance(std::max(work, write) + times.blocked);
        if (failure < 0 || failure >= write) {
            complete = reached;
        }
        if (failure < 0) {
            ++reached;
            is_writing = true;
            continue;
        }
        reached = complete;
        is_writing = false;
        while (clock.advance(times.restart) >= 0) {}
    }
    return clock.now();
}

/// Returns the mean productive share of simulated jobs.
inline double simulated_share(const plan::FailureTimes& times, double work, int saves = 50) {
    std::mt19937_64 random{1};
    double seconds = 0;
    for (int job = 0; job < num_simulated_jobs; ++job) {
        seconds += simulated_job_seconds(times, work, saves, random);
    }
    return num_simulated_jobs * saves * work / seconds;
}

/// Returns the productive seconds between saves at which simulated jobs are fastest.
///
/// It is the minimum of a parabola through the simulated times of intervals from two thirds to three halves
/// of `near`.
inline double simulated_best_work(const plan::FailureTimes& times, double near) {
    constexpr int half = 4;
    constexpr int points = 2 * half + 1;
    double sum = 0;
    double sum_x = 0;
    double sum_xx = 0;
    double x2 = 0;
    double x4 = 0;
    for (int i = -half; i <= half; ++i) {
        const double x = static_cast<double>(i) / half * std::log(1.5);
        const double y = 1 / simulated_share(times, near * std::exp(x));
        sum += y;
        sum_x += x * y;
        sum_xx += x * x * y;
        x2 += x * x;
        x4 += x * x * x * x;
    }
    const double slope = sum_x / x2;
    const double curvature = (sum_xx - x2 / points * sum) / (x4 - x2 * x2 / points);
    return near * std::exp(-slope / (2 * curvature));
}

}  // namespace ziggurat::test
