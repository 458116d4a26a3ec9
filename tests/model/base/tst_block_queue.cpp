// SPDX-License-Identifier: Apache-2.0
// Blocks come in their order and are filled again; whoever fills does not wait for somebody who takes no more.
#include "model/base/block_queue.h"
#include "tests/support/test_program.h"

#include <QTest>

#include <atomic>
#include <memory>
#include <thread>

namespace tst_block_queue {

using namespace fourwalls;

class BlockQueueTest : public QObject {
    Q_OBJECT
private slots:
    void blocksComeInOrderAndAreFilledAgain()
    {
        constexpr int kBlocks = 2000;
        constexpr std::size_t kMost = 3;
        BlockQueue<std::unique_ptr<int>> queue(kMost);
        int made = 0;
        std::thread filling([&] {
            std::unique_ptr<int> block;
            for (int i = 0; i < kBlocks; ++i) {
                made += block ? 0 : 1;
                if (!block) block = std::make_unique<int>();
                *block = i;
                block = queue.handOver(std::move(block));
            }
            queue.end();
        });
        int taken = 0;
        bool ordered = true;
        while (auto block = queue.take()) {
            ordered = ordered && **block == taken++;
            queue.giveBack(std::move(*block));
        }
        filling.join();
        QVERIFY(ordered);
        QCOMPARE(taken, kBlocks);
        // Those that wait, the one that is filled and the one that is emptied.
        QVERIFY2(made <= static_cast<int>(kMost) + 2, qPrintable(QString::number(made)));
        QVERIFY(!queue.take());
    }

    void nobodyWaitsForOneWhoRefuses()
    {
        BlockQueue<int> queue(1);
        std::atomic<int> handed = 0;
        std::thread filling([&] {
            while (!queue.isRefused()) {
                queue.handOver(1);
                ++handed;
            }
        });
        QVERIFY(queue.take());
        queue.refuse();
        filling.join(); // hangs if it waits for room
        QVERIFY(handed > 0);
    }
};

FOURWALLS_TEST(BlockQueueTest, QCoreApplication)

} // namespace tst_block_queue

#include "tst_block_queue.moc"
