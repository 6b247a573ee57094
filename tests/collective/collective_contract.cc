// SPDX-License-Identifier: Apache-2.0
#include "tests/collective/collective_contract.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "collective/element_sum.h"
#include "tests/testing/status_matchers.h"

namespace gandem::testing {
namespace {

double Read(ElementType type, const Bytes& bytes, size_t index) {
  const std::byte* const at = bytes.data() + index * BytesPerElement(type);
  float single = 0;
  double number = 0;
  uint16_t bits = 0;
  switch (type) {
    case ElementType::kFloat32:
      std::memcpy(&single, at, 4);
      return single;
    case ElementType::kFloat64:
      std::memcpy(&number, at, 8);
      return number;
    case ElementType::kBfloat16:
      std::memcpy(&bits, at, 2);
      return FromBfloat16(bits);
    case ElementType::kFloat16:
      std::memcpy(&bits, at, 2);
      return FromFloat16(bits);
  }
  return 0;
}

void Write(ElementType type, double number, Bytes& bytes, size_t index) {
  std::byte* const at = bytes.data() + index * BytesPerElement(type);
  const float single = static_cast<float>(number);
  const uint16_t bits =
      type == ElementType::kBfloat16 ? ToBfloat16(single) : ToFloat16(single);
  switch (type) {
    case ElementType::kFloat32:
      std::memcpy(at, &single, 4);
      break;
    case ElementType::kFloat64:
      std::memcpy(at, &number, 8);
      break;
    case ElementType::kBfloat16:
    case ElementType::kFloat16:
      std::memcpy(at, &bits, 2);
      break;
  }
}

// Returns the float sum: rounding the double sum to float changes nothing.
double AddIn(ElementType type, double a, double b) {
  return type == ElementType::kFloat64 ? a + b : static_cast<float>(a + b);
}

size_t CountOf(ElementType type, const Bytes& bytes) {
  return bytes.size() / BytesPerElement(type);
}

Bytes ContractSum(ElementType type, const std::vector<Bytes>& terms,
                  const SumCase& which, int64_t small_bytes,
                  const std::vector<std::string>& hosts) {
  const size_t sent = which.count * BytesPerElement(type) * (terms.size() - 1);
  if (sent <= static_cast<size_t>(small_bytes)) {
    return RankOrderSum(type, terms);
  }
  return hosts.empty() ? RingSum(type, terms)
                       : HierarchicalSum(type, terms, hosts);
}

}  // namespace

void RunRanks(const Fleet& fleet,
              const std::function<void(int rank, Collective&)>& work) {
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < fleet.size(); ++rank) {
    threads.emplace_back(
        [&, rank] { work(static_cast<int>(rank), *fleet[rank]); });
  }
  for (std::thread& thread : threads) thread.join();
}

absl::Status WaitLong(Collective& collective, Collective::Ticket ticket) {
  return collective.Wait(ticket, absl::Now() + absl::Seconds(30));
}

Bytes DrawElements(ElementType type, size_t count, int rank, uint64_t seed) {
  Bytes bytes(count * BytesPerElement(type));
  uint64_t state = seed * 1000003 + rank * 7919 + 12345;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double mantissa = static_cast<double>(state >> 33) / (1u << 30) - 1;
    const int exponent = static_cast<int>((state >> 20) % 11) - 5;
    Write(type, std::ldexp(mantissa, exponent), bytes, i);
  }
  return bytes;
}

Bytes RankOrderSum(ElementType type, const std::vector<Bytes>& terms) {
  Bytes result = terms[0];
  for (size_t i = 0; i < CountOf(type, result); ++i) {
    double sum = Read(type, terms[0], i);
    for (size_t rank = 1; rank < terms.size(); ++rank) {
      sum = AddIn(type, sum, Read(type, terms[rank], i));
    }
    Write(type, sum, result, i);
  }
  return result;
}

Bytes RingSum(ElementType type, const std::vector<Bytes>& terms) {
  Bytes result = terms[0];
  const size_t ranks = terms.size();
  const size_t count = CountOf(type, result);
  for (size_t segment = 0; segment < ranks; ++segment) {
    const size_t end = count * (segment + 1) / ranks;
    for (size_t i = count * segment / ranks; i < end; ++i) {
      Write(type, Read(type, terms[(segment + 1) % ranks], i), result, i);
      for (size_t hop = 2; hop <= ranks; ++hop) {
        const double own = Read(type, terms[(segment + hop) % ranks], i);
        Write(type, AddIn(type, Read(type, result, i), own), result, i);
      }
    }
  }
  return result;
}

Bytes HierarchicalSum(ElementType type, const std::vector<Bytes>& terms,
                      const std::vector<std::string>& hosts) {
  std::vector<std::string> order;
  for (const std::string& host : hosts) {
    if (std::find(order.begin(), order.end(), host) == order.end()) {
      order.push_back(host);
    }
  }
  std::vector<Bytes> sums;
  for (const std::string& host : order) {
    std::vector<Bytes> local;
    for (size_t rank = 0; rank < terms.size(); ++rank) {
      if (hosts[rank] == host) local.push_back(terms[rank]);
    }
    sums.push_back(RingSum(type, local));
  }
  return RingSum(type, sums);
}

void CheckSums(const Fleet& fleet, const std::vector<SumCase>& cases,
               int64_t small_bytes, const std::vector<std::string>& hosts) {
  std::vector<std::vector<Bytes>> buffers(fleet.size());  // by rank, case
  std::vector<Bytes> expected;
  for (const SumCase& which : cases) {
    std::vector<Bytes> terms;
    for (size_t rank = 0; rank < fleet.size(); ++rank) {
      terms.push_back(DrawElements(which.type, which.count,
                                   static_cast<int>(rank), which.seed));
      buffers[rank].push_back(terms.back());
    }
    expected.push_back(
        ContractSum(which.type, terms, which, small_bytes, hosts));
  }
  RunRanks(fleet, [&](int rank, Collective& collective) {
    Collective::Ticket last = 0;
    for (size_t i = 0; i < cases.size(); ++i) {
      last = collective.AllReduce(buffers[rank][i], cases[i].type);
    }
    EXPECT_OK(WaitLong(collective, last));
  });
  for (size_t i = 0; i < cases.size(); ++i) {
    for (size_t rank = 0; rank < fleet.size(); ++rank) {
      EXPECT_TRUE(buffers[rank][i] == expected[i])
          << "rank " << rank << " of " << fleet.size() << ", type "
          << static_cast<int>(cases[i].type) << ", " << cases[i].count
          << " elements";
    }
  }
}

void CheckCopies(const Fleet& fleet, const std::vector<size_t>& sizes) {
  const int ranks = static_cast<int>(fleet.size());
  const auto value = [](int rank, size_t at) {
    return static_cast<std::byte>(31 * rank + 7 * at + at / 256);
  };
  RunRanks(fleet, [&](int rank, Collective& collective) {
    for (const size_t size : sizes) {
      for (int root = 0; root < ranks; ++root) {
        Bytes bytes(size);
        for (size_t i = 0; i < size; ++i) bytes[i] = value(rank, i);
        EXPECT_OK(WaitLong(collective, collective.Broadcast(bytes, root)));
        for (size_t i = 0; i < size; ++i) {
          ASSERT_EQ(bytes[i], value(root, i)) << size << " bytes at " << i;
        }
      }
      Bytes blocks(size * ranks);
      for (size_t i = 0; i < size; ++i) {
        blocks[rank * size + i] = value(rank, i);
      }
      EXPECT_OK(WaitLong(collective, collective.AllGather(blocks)));
      for (size_t i = 0; i < blocks.size(); ++i) {
        ASSERT_EQ(blocks[i], value(static_cast<int>(i / size), i % size))
            << size << " bytes each, at " << i;
      }
    }
  });
}

}  // namespace gandem::testing
