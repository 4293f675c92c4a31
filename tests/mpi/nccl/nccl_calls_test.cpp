/// Other kinds of calls by NCCL, several calls at once, and vectors on the host.
#include "device/event.hpp"
#include "tests/mpi/nccl/nccl_fixture.hpp"

namespace ziggurat::comm {
namespace {

TEST_F(OverNccl, SumsLongerThanTheScratchAreMadeInPieces) {
    if (size() < 3) {
        return;  // the real library, or too slow
    }
    const std::int64_t longest = 16'000'000 / (size() - 1) / 4 + 600'000;
    std::vector<Block> blocks;
    for (int m = 0; m < size(); ++m) {
        blocks.push_back({m == 0 ? 0 : longest * 4 + m * 12, m == 0 ? longest * 4 : 12});
    }
    const auto value = [](int of_rank, std::int64_t i) {
        return static_cast<float>(of_rank + 1) + float(i % 1024);
    };
    const auto input = put(filled<float>(blocks.back().end() / 4, rank(), value));
    const auto shard = input.at + blocks[me()].offset_bytes;

    run({.kind = CollectiveKind::reduce_scatter,
         .input = input.at,
         .output = input.at,
         .output_offset_bytes = blocks[me()].offset_bytes,
         .blocks = blocks,
         .label = "long"});

    const auto first = blocks[me()].offset_bytes / 4;
    const auto sums = get(Vector<float>{shard, static_cast<std::size_t>(blocks[me()].bytes / 4)});
    for (std::int64_t i = 0; i < std::ssize(sums); ++i) {
        ASSERT_EQ(sums[static_cast<std::size_t>(i)], expected_sum<float>(size(), 0, first + i, value)) << i;
    }
}

/// The stream of a group waits for inputs of another stream, and a third one waits for the sums.
TEST_F(OverNccl, CallsStartBeforeTheirInputsAreReady) {
    if (size() == 1) {
        return;
    }
    const std::int64_t count = size() * 5000;
    const auto vector = put(count, 0.0F);
    const int call = collectives->prepare({.kind = CollectiveKind::all_reduce,
                                           .input = vector.at,
                                           .output = vector.at,
                                           .blocks = equal_blocks<float>(size(), 5000),
                                           .label = "sums"});
    const auto* stream = collectives->stream_of(call);
    ASSERT_NE(stream, nullptr);
    const auto reading = gpu->make_stream();
    device::Event ready{*copies}, done{*stream};
    std::vector<float> sums(static_cast<std::size_t>(count));
    auto* const to = of_host.data() + count * 4;
    for (int round = 1; round < 4; ++round) {
        const std::vector<float> values(sums.size(), static_cast<float>(round * (rank() + 1)));
        std::memcpy(of_host.data(), values.data(), values.size() * sizeof(float));

        device::copy(*copies, vector.at, of_host.data(), count * 4);
        ready.record(*copies);
        stream->wait_for(ready);
        collectives->start(call);
        while (!collectives->is_enqueued(call)) {}
        done.record(*stream);
        reading.wait_for(done);
        device::copy(reading, to, vector.at, count * 4);
        reading.finish();

        std::memcpy(sums.data(), to, sums.size() * sizeof(float));
        EXPECT_EQ(sums, std::vector<float>(sums.size(), float(round * size() * (size() + 1) / 2)));
        wait(*collectives, call, unwatched, &node);
    }
}

TEST_F(OverNccl, CallsOfTheHostHaveNoStream) {
    std::vector<float> of_this_rank(static_cast<std::size_t>(size()), 1.0F);
    auto* const at = reinterpret_cast<std::byte*>(of_this_rank.data());
    const int sums = collectives->prepare({.kind = CollectiveKind::all_reduce,
                                           .input = at,
                                           .output = at,
                                           .blocks = equal_blocks<float>(size(), 1),
                                           .label = "sums"});
    EXPECT_EQ(collectives->stream_of(sums), nullptr);
}

/// The receiver may start first, and the sender before its data are ready.
TEST_F(OverNccl, MessagesStartBeforeTheirDataAreReady) {
    if (size() == 1) {
        return;
    }
    constexpr std::int64_t count = 40'000;
    const auto sent = put(count, 0.0F);
    const auto received = put(count, 0.0F);
    const int out = collectives->prepare({.kind = CollectiveKind::send,
                                          .input = sent.at,
                                          .blocks = {{0, count * 4}},
                                          .peer = (rank() + 1) % size(),
                                          .label = "out"});
    const int in = collectives->prepare({.kind = CollectiveKind::receive,
                                         .output = received.at,
                                         .blocks = {{0, count * 4}},
                                         .peer = (rank() + size() - 1) % size(),
                                         .label = "in"});
    const auto& stream = *collectives->stream_of(out);
    EXPECT_NE(&stream.queue(), &collectives->stream_of(in)->queue());
    device::Event ready{*copies};
    for (int round = 1; round < 4; ++round) {
        const std::vector<float> values(count, static_cast<float>(round * size() + rank()));
        std::memcpy(of_host.data(), values.data(), values.size() * sizeof(float));

        collectives->start(in);
        device::copy(*copies, sent.at, of_host.data(), count * 4);
        ready.record(*copies);
        stream.wait_for(ready);
        collectives->start(out);
        for (bool is_out = false, is_in = false; !is_out || !is_in;) {
            is_out = collectives->is_enqueued(out);
            is_in = collectives->is_enqueued(in);
        }
        wait(*collectives, in, unwatched, &node);
        wait(*collectives, out, unwatched, &node);

        const auto from = static_cast<float>(round * size() + (rank() + size() - 1) % size());
        EXPECT_EQ(get(received), std::vector<float>(count, from));
    }
}

TEST_F(OverNccl, AllToAllTransposesBlocksOfAnySize) {
    const auto count = [](int from, int to) { return (from + 2 * to) % 4 * 301; };
    std::vector<Block> blocks;
    std::vector<Block> output_blocks;
    std::int64_t sent = 0;
    std::int64_t received = 0;
    for (int m = 0; m < size(); ++m) {
        blocks.push_back({sent, count(rank(), m) * 4});
        sent += blocks.back().bytes;
        output_blocks.push_back({received, count(m, rank()) * 4});
        received += output_blocks.back().bytes;
    }
    const auto input = put(filled<float>(sent / 4, rank(), numbered));
    const auto output = put(received / 4, 0.0F);

    const int call = run({.kind = CollectiveKind::all_to_all,
                          .input = input.at,
                          .output = output.at,
                          .blocks = blocks,
                          .output_blocks = output_blocks,
                          .label = "transpose"});

    const auto values = get(output);
    for (int from = 0; from < size(); ++from) {
        std::int64_t first = 0;
        for (int m = 0; m < rank(); ++m) {
            first += count(from, m);
        }
        const auto at = output_blocks[static_cast<std::size_t>(from)].offset_bytes / 4;
        for (std::int64_t i = 0; i < count(from, rank()); ++i) {
            ASSERT_EQ(numbered(from, first + i), values[static_cast<std::size_t>(at + i)]) << "from " << from;
        }
    }
    EXPECT_EQ(collectives->bytes_moved(call), sent - blocks[me()].bytes);
}

TEST_F(OverNccl, BroadcastReachesAllFromAnyRoot) {
    for (int root = 0; root < size(); ++root) {
        const auto vector = put(filled<float>(30'001, rank(), numbered));

        run({.kind = CollectiveKind::broadcast,
             .input = vector.at,
             .output = vector.at,
             .blocks = {{4, 30'000 * 4}},
             .peer = root,
             .label = "broadcast"});

        const auto values = get(vector);
        EXPECT_EQ(numbered(rank(), 0), values[0]);
        EXPECT_EQ(numbered(root, 1), values[1]);
        EXPECT_EQ(numbered(root, 30'000), values[30'000]);
    }
}

/// The two ends start their messages in different orders, while messages of the other direction are in
/// flight.
TEST_F(OverNccl, MessagesBetweenTwoKeepTheirTagsApart) {
    if (size() == 1) {
        return;  // one rank has no peer
    }
    const int next = (rank() + 1) % size();
    const int previous = (rank() - 1 + size()) % size();
    constexpr std::int64_t lengths[] = {3, 60'000, 500};
    constexpr int num = 3;
    std::vector<int> calls;
    std::vector<Vector<float>> came;
    for (int tag = 0; tag < num; ++tag) {
        const auto out = put(filled<float>(lengths[tag], rank(), numbered));
        came.push_back(put(lengths[tag], 0.0F));
        calls.push_back(collectives->prepare({.kind = CollectiveKind::send,
                                              .input = out.at,
                                              .blocks = {{0, lengths[tag] * 4}},
                                              .peer = next,
                                              .tag = tag,
                                              .label = "out"}));
        calls.push_back(collectives->prepare({.kind = CollectiveKind::receive,
                                              .output = came.back().at,
                                              .blocks = {{0, lengths[tag] * 4}},
                                              .peer = previous,
                                              .tag = tag,
                                              .label = "in"}));
    }
    for (int step = 0; step < 3; ++step) {
        for (const int call :
             rank() % 2 == 0 ? std::vector{0, 1, 2, 3, 4, 5} : std::vector{5, 2, 1, 4, 0, 3}) {
            collectives->start(calls[static_cast<std::size_t>(call)]);
        }
        for (const int call : {1, 0, 5, 2, 4, 3}) {
            wait(*collectives, calls[static_cast<std::size_t>(call)], unwatched, &node);
        }
        for (int tag = 0; tag < num; ++tag) {
            EXPECT_EQ(filled<float>(lengths[tag], previous, numbered),
                      get(came[static_cast<std::size_t>(tag)]));
        }
    }
    EXPECT_EQ(collectives->bytes_moved(calls[2]), 3 * lengths[1] * 4);
    EXPECT_EQ(collectives->bytes_moved(calls[3]), 0) << "the sender counts";
}

TEST_F(OverNccl, SeveralCallsAreUnderWayAtOnce) {
    constexpr int num = 6;
    const auto equal = equal_blocks<float>(size(), 5000);
    const auto unlike = uneven_blocks<float>(size(), 700);
    std::vector<int> calls;
    std::vector<Vector<float>> vectors;
    for (int c = 0; c < num; ++c) {
        const auto& blocks = c % 2 == 0 ? equal : unlike;
        vectors.push_back(put(filled<float>(elements_of<float>(blocks), rank() + c, numbered)));
        calls.push_back(collectives->prepare({.kind = CollectiveKind::all_reduce,
                                              .input = vectors.back().at,
                                              .output = vectors.back().at,
                                              .blocks = blocks,
                                              .label = "sums"}));
    }
    for (const int call : calls) {
        collectives->start(call);
    }
    for (const int call : {3, 0, 5, 1, 4, 2}) {
        wait(*collectives, calls[static_cast<std::size_t>(call)], unwatched, &node);
    }
    for (int c = 0; c < num; ++c) {
        const auto value = [c](int of_rank, std::int64_t i) { return numbered(of_rank + c, i); };
        const auto sums = get(vectors[static_cast<std::size_t>(c)]);
        for (std::int64_t i = 0; i < std::ssize(sums); ++i) {
            ASSERT_EQ(sums[static_cast<std::size_t>(i)], expected_sum<float>(size(), 0, i, value)) << c;
        }
    }
}

TEST_F(OverNccl, VectorsOfTheHostStayThere) {
    auto values = filled<float>(size() * 3, rank(), numbered);
    const auto blocks = equal_blocks<float>(size(), 3);

    run({.kind = CollectiveKind::all_reduce,
         .input = bytes(values),
         .output = bytes(values),
         .blocks = blocks,
         .label = "control values"});

    for (std::int64_t i = 0; i < std::ssize(values); ++i) {
        EXPECT_EQ(values[static_cast<std::size_t>(i)], expected_sum<float>(size(), 0, i, numbered));
    }
}

/// The home of the gradients is the host on one member and the GPU on the others.
TEST_F(OverNccl, MembersMayHaveTheirVectorsInOtherTiers) {
    const auto blocks = uneven_blocks<float>(size(), 100);
    const auto values = filled<float>(elements_of<float>(blocks), rank(), ragged);
    const auto on_device = put(values);
    const bool is_on_host = rank() == 0;
    auto* const pinned_half = of_host.data() + arena_bytes / 2;
    std::memcpy(pinned_half, values.data(), values.size() * 4);
    auto* const vector = is_on_host ? pinned_half : on_device.at;

    run({.kind = CollectiveKind::all_reduce,
         .input = vector,
         .output = vector,
         .blocks = blocks,
         .label = "tied"});

    auto sums = get(on_device);
    if (is_on_host) {
        std::memcpy(sums.data(), pinned_half, sums.size() * 4);
    }
    expect_sums(sums.data(), {0, blocks.back().end()}, size(), 0);
}

}  // namespace
}  // namespace ziggurat::comm
