#include "schedule/verify/simulate_contents.hpp"

#include <algorithm>
#include <iterator>

namespace ziggurat::schedule::simulation {

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    // Finalizer of SplitMix64, applied to both values.
    std::uint64_t z = hash * 0x9e3779b97f4a7c15U + value + 0x632be59bd9b4e019U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

std::uint64_t hash_of(const std::string& text) {
    std::uint64_t hash = text.size();
    for (const char c : text) {
        hash = mixed(hash, static_cast<unsigned char>(c));
    }
    return hash;
}

Content Content::after(std::int64_t offset_bytes) const {
    auto moved = *this;
    const auto bytes = byte + offset_bytes;
    moved.first += bytes / element_bytes;
    moved.byte = static_cast<int>(bytes % element_bytes);
    return moved;
}

bool Content::is_continued_by(const Content& next, std::int64_t bytes) const {
    const auto end = byte + bytes;
    return name == next.name && term == next.term && element_bytes == next.element_bytes &&
           first + end / element_bytes == next.first && end % element_bytes == next.byte &&
           microbatch == next.microbatch && step == next.step && buffer == next.buffer && op == next.op &&
           in_flux == next.in_flux;
}

std::uint64_t fingerprint(const Pieces& pieces) {
    std::uint64_t hash = 0;
    for (std::size_t i = 0; i < pieces.size();) {
        const auto& c = pieces[i].content;
        std::int64_t elements = 0;
        // Pieces that differ only in their writer hold the same values.
        for (; i < pieces.size() && pieces[i].content.name == c.name && pieces[i].content.term == c.term &&
               pieces[i].content.first == c.first + elements;
             ++i) {
            elements += pieces[i].bytes() / pieces[i].content.element_bytes;
        }
        for (const auto value :
             {c.name, c.term, static_cast<std::uint64_t>(c.first), static_cast<std::uint64_t>(elements)}) {
            hash = mixed(hash, value);
        }
    }
    return hash;
}

void append(Pieces& pieces, ContentPiece piece) {
    if (piece.begin == piece.end) {
        return;
    }
    if (!pieces.empty() && pieces.back().end == piece.begin &&
        pieces.back().content.is_continued_by(piece.content, pieces.back().bytes())) {
        pieces.back().end = piece.end;
    } else {
        pieces.push_back(piece);
    }
}

Pieces part(const Pieces& pieces, std::int64_t begin, std::int64_t end) {
    Pieces cut;
    for (const auto& piece : pieces) {
        const auto from = std::max(piece.begin, begin);
        const auto to = std::min(piece.end, end);
        if (from < to) {
            append(cut, {from - begin, to - begin, piece.content.after(from - piece.begin)});
        }
    }
    return cut;
}

Pieces retyped(const Pieces& pieces, int from_bytes, int to_bytes) {
    if (from_bytes == to_bytes) {
        return pieces;
    }
    Pieces made;
    for (auto piece : pieces) {
        piece.begin = piece.begin / from_bytes * to_bytes;
        piece.end = piece.end / from_bytes * to_bytes;
        if (piece.content.element_bytes == from_bytes) {
            piece.content.element_bytes = to_bytes;
        }
        append(made, piece);
    }
    return made;
}

std::int64_t bytes_of(const Pieces& pieces) {
    return pieces.empty() ? 0 : pieces.back().end;
}

void Memory::write(std::int64_t begin, std::int64_t end, const Content& content) {
    if (begin >= end) {
        return;
    }
    auto at = held_.lower_bound(begin);
    if (at != held_.begin()) {
        const auto before = std::prev(at);
        if (before->second.end > begin) {
            const auto old = before->second;
            before->second.end = begin;
            if (old.end > end) {
                at = held_.emplace_hint(at, end, Held{old.end, old.content.after(end - before->first)});
            }
        }
    }
    while (at != held_.end() && at->first < end) {
        if (at->second.end > end) {
            held_.emplace(end, Held{at->second.end, at->second.content.after(end - at->first)});
        }
        at = held_.erase(at);
    }
    held_.emplace(begin, Held{end, content});
}

void Memory::read(std::int64_t begin, std::int64_t end, std::int64_t at, Pieces& into) const {
    auto piece = held_.upper_bound(begin);
    if (piece != held_.begin() && std::prev(piece)->second.end > begin) {
        --piece;
    }
    auto position = begin;
    const auto moved = [&](std::int64_t address) { return at + address - begin; };
    for (; position < end; ++piece) {
        const auto from = piece == held_.end() ? end : std::min(end, std::max(position, piece->first));
        append(into, {moved(position), moved(from), Content{}});
        if (from == end) {
            return;
        }
        const auto to = std::min(end, piece->second.end);
        append(into, {moved(from), moved(to), piece->second.content.after(from - piece->first)});
        position = to;
    }
}

void Terms::leaf(std::uint64_t term, const Leaf& leaf) {
    leaves_.try_emplace(term, leaf);
}

std::uint64_t Terms::sum(const std::vector<std::uint64_t>& terms) {
    std::vector<std::uint64_t> summands;
    std::uint64_t hash = 0;
    for (const auto term : terms) {
        if (term != zero) {
            summands.push_back(term);
            hash = mixed(hash, term);
        }
    }
    if (summands.size() < 2) {
        return summands.empty() ? zero : summands.front();
    }
    hash = mixed(hash, 2);
    sums_.try_emplace(hash, std::move(summands));
    return hash;
}

std::uint64_t Terms::rounded(std::uint64_t term) {
    const auto known = sums_.find(term);
    if (term == zero || (known != sums_.end() && known->second.size() == 1)) {
        return term;
    }
    const auto hash = mixed(term, 1);
    sums_.try_emplace(hash, std::vector{term});
    return hash;
}

bool Terms::is_known(std::uint64_t term) const {
    return leaves_.count(term) == 1 || sums_.count(term) == 1;
}

std::vector<std::pair<Leaf, std::uint64_t>> Terms::leaves(std::uint64_t term) const {
    if (const auto leaf = leaves_.find(term); leaf != leaves_.end()) {
        return {{leaf->second, term}};
    }
    std::vector<std::pair<Leaf, std::uint64_t>> all;
    if (const auto sum = sums_.find(term); sum != sums_.end()) {
        for (const auto summand : sum->second) {
            const auto more = leaves(summand);
            all.insert(all.end(), more.begin(), more.end());
        }
    }
    return all;
}

}  // namespace ziggurat::schedule::simulation
