<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
<context>
    <name>AreaModel</name>
    <message>
        <source>no phase</source>
        <translation>无阶段</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>层 %1</translation>
    </message>
    <message>
        <source>no layer</source>
        <translation>无层</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>Slices that are seen in the range</source>
        <translation>范围内可见的切片</translation>
    </message>
    <message>
        <source>Their time within the range, with what is nested in them</source>
        <translation>它们在范围内的时间，含嵌套在其中的部分</translation>
    </message>
    <message>
        <source>Own time, as a share of all own time that is selected</source>
        <translation>自身时间占所选全部自身时间的份额</translation>
    </message>
    <message>
        <source>Own time: without what is nested in them</source>
        <translation>自身时间：不含嵌套在其中的部分</translation>
    </message>
    <message>
        <source>Half of the slices are not longer. Whole slices count, also those that the range cuts</source>
        <translation>一半的切片不长于此。按完整切片计，包括被范围截断的</translation>
    </message>
    <message>
        <source>99 of 100 slices are not longer</source>
        <translation>100 个切片中有 99 个不长于此</translation>
    </message>
    <message>
        <source>How many are how long, from the shortest to the longest on a logarithmic scale</source>
        <translation>各时长有多少个：从最短到最长，对数刻度</translation>
    </message>
    <message>
        <source>name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>count</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>total</source>
        <translation>总计</translation>
    </message>
    <message>
        <source>share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>self</source>
        <translation>自身</translation>
    </message>
    <message>
        <source>min</source>
        <translation>最短</translation>
    </message>
    <message>
        <source>p50</source>
        <translation>p50</translation>
    </message>
    <message>
        <source>p99</source>
        <translation>p99</translation>
    </message>
    <message>
        <source>max</source>
        <translation>最长</translation>
    </message>
    <message>
        <source>distribution</source>
        <translation>分布</translation>
    </message>
    <message>
        <source>Own time, as a share of what is of the same kind: steps, phases, operators, kernels …</source>
        <translation>自身时间，占同类（步、阶段、算子、内核……）的比例</translation>
    </message>
</context>
<context>
    <name>AreaPanel</name>
    <message>
        <source>%1 slices</source>
        <translation>%1 个切片</translation>
    </message>
    <message numerus="yes">
        <source>%n tracks of rank %1</source>
        <translation>
            <numerusform>rank %1 的 %n 条轨道</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n tracks of %1 ranks</source>
        <translation>
            <numerusform>%1 个 rank 的 %n 条轨道</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 busy</source>
        <translation>忙碌 %1</translation>
    </message>
    <message>
        <source>reading: %1 of %2 tracks</source>
        <translation>正在读取：%2 条轨道中的 %1 条</translation>
    </message>
    <message>
        <source>reading…</source>
        <translation>正在读取…</translation>
    </message>
    <message>
        <source>Find all of this name</source>
        <translation>查找全部同名切片</translation>
    </message>
    <message>
        <source>Everything like this, in the whole trace</source>
        <translation>整条轨迹中与此相同的一切</translation>
    </message>
    <message>
        <source>Copy the name</source>
        <translation>复制名称</translation>
    </message>
    <message>
        <source>Copy the cell</source>
        <translation>复制单元格</translation>
    </message>
    <message>
        <source>Copy the table</source>
        <translation>复制表格</translation>
    </message>
    <message>
        <source>In the selection</source>
        <translation>所选范围内</translation>
    </message>
    <message>
        <source>By name</source>
        <translation>按名称</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>类型</translation>
    </message>
    <message>
        <source>Layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>Stream</source>
        <translation>流</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>Call tree</source>
        <translation>调用树</translation>
    </message>
    <message>
        <source>Flame graph</source>
        <translation>火焰图</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>Copy the table, with tabs between its columns</source>
        <translation>复制表格，各列以制表符分隔</translation>
    </message>
    <message>
        <source>Forget the selection (Esc)</source>
        <translation>取消选择 (Esc)</translation>
    </message>
    <message>
        <source>Forget the selection</source>
        <translation>取消选择</translation>
    </message>
    <message>
        <source>Statistics of the selected range</source>
        <translation>所选范围的统计</translation>
    </message>
    <message>
        <source>Click a name to find all of it, double-click for everything like it in the whole trace</source>
        <translation>单击名称查找全部同名切片，双击显示整条轨迹中与之相同的一切</translation>
    </message>
    <message>
        <source>communication %1 in all tracks</source>
        <translation>各轨道通信合计 %1</translation>
    </message>
</context>
<context>
    <name>AuditDialog</name>
    <message>
        <source>Audit of %1</source>
        <translation>%1 的审计记录</translation>
    </message>
    <message>
        <source>Not everything could be taken over as it was.</source>
        <translation>并非所有内容都能原样接收。</translation>
    </message>
    <message>
        <source>Everything was taken over: nothing was dropped, skipped or repaired.</source>
        <translation>全部内容均已接收：没有丢弃、跳过或修复。</translation>
    </message>
    <message>
        <source>Audit</source>
        <translation>审计</translation>
    </message>
    <message>
        <source>what</source>
        <translation>内容</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>类型</translation>
    </message>
    <message>
        <source>count</source>
        <translation>数量</translation>
    </message>
    <message>
        <source>why</source>
        <translation>原因</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>BandwidthCard</name>
    <message>
        <source>Bandwidth</source>
        <translation>带宽</translation>
    </message>
    <message>
        <source>busbw</source>
        <translation>busbw</translation>
    </message>
    <message>
        <source>Bus bandwidth: payload / transfer × 2(n−1)/n for all-reduce, (n−1)/n for all-gather and reduce-scatter</source>
        <translation>总线带宽：载荷 / 传输时间 × 系数，all-reduce 为 2(n−1)/n，all-gather 和 reduce-scatter 为 (n−1)/n</translation>
    </message>
    <message>
        <source>algbw</source>
        <translation>algbw</translation>
    </message>
    <message>
        <source>Algorithm bandwidth: payload / transfer</source>
        <translation>算法带宽：载荷 / 传输时间</translation>
    </message>
    <message>
        <source>Bandwidth of operations over their size</source>
        <translation>各操作的带宽随大小的变化</translation>
    </message>
    <message>
        <source>cost model, %1</source>
        <translation>成本模型，%1</translation>
    </message>
    <message>
        <source>cost model</source>
        <translation>成本模型</translation>
    </message>
    <message>
        <source>link inside a node %1</source>
        <translation>节点内链路 %1</translation>
    </message>
    <message>
        <source>network, a device&apos;s share %1</source>
        <translation>网络，单设备份额 %1</translation>
    </message>
    <message>
        <source>the link&apos;s limit</source>
        <translation>链路上限</translation>
    </message>
    <message>
        <source>payload of one operation</source>
        <translation>单次操作的载荷</translation>
    </message>
    <message>
        <source>bus bandwidth [B/s]</source>
        <translation>总线带宽 [B/s]</translation>
    </message>
    <message>
        <source>algorithm bandwidth [B/s]</source>
        <translation>算法带宽 [B/s]</translation>
    </message>
    <message>
        <source>%1, %2 ranks
%3 in %4 = %5 bus bandwidth
skew of arrivals %6 · click to look at its hops, double click for the timeline</source>
        <translation>%1，%2 个 rank
%4 内 %3 = 总线带宽 %5
到达偏差 %6 · 单击查看各跳，双击转到时间线</translation>
    </message>
    <message>
        <source>%1 operations in %2</source>
        <translation>%2中有 %1 次操作</translation>
    </message>
    <message>
        <source>guessed: %1, %2</source>
        <translation>猜测：%1，%2</translation>
    </message>
    <message>
        <source>link of the %1 by its data sheet %2</source>
        <translation>%1 的链路（按数据手册）%2</translation>
    </message>
    <message>
        <source>at best %1 of the link&apos;s rate, at %2, %3</source>
        <translation>最高为链路速率的 %1，在 %2 时，%3</translation>
    </message>
    <message>
        <source>at best %1 at %2, %3; the link&apos;s limit is not known</source>
        <translation>最高 %1，在 %2 时，%3；链路上限未知</translation>
    </message>
    <message numerus="yes">
        <source>%n slower than the axis shows</source>
        <translation>
            <numerusform>%n 个慢于坐标轴范围</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>BoundBy</name>
    <message>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>launch</source>
        <translation>启动</translation>
    </message>
</context>
<context>
    <name>CallTreeModel</name>
    <message>
        <source>Host and device time, as a share of all</source>
        <translation>主机与设备时间占全部的份额</translation>
    </message>
    <message>
        <source>Work of the device that was launched from here</source>
        <translation>从这里启动的设备工作</translation>
    </message>
    <message>
        <source>Work of the device that was launched by this itself</source>
        <translation>由它自身启动的设备工作</translation>
    </message>
    <message>
        <source>name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>host</source>
        <translation>主机</translation>
    </message>
    <message>
        <source>share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>self</source>
        <translation>自身</translation>
    </message>
    <message>
        <source>device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>launched here</source>
        <translation>此处启动</translation>
    </message>
    <message>
        <source>count</source>
        <translation>次数</translation>
    </message>
</context>
<context>
    <name>CallTreePanel</name>
    <message>
        <source>reading…</source>
        <translation>正在读取…</translation>
    </message>
    <message>
        <source>Nothing of this kind is in the selection. Select rows of threads or operators, or choose another kind.</source>
        <translation>所选范围内没有这一类。请选择线程或算子所在的行，或换一类。</translation>
    </message>
    <message>
        <source>Click a bar to look into it, once more to come back</source>
        <translation>单击一条进入其中，再次单击返回</translation>
    </message>
    <message>
        <source>Operators</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>Python frames</source>
        <translation>Python 帧</translation>
    </message>
    <message>
        <source>Modules</source>
        <translation>模块</translation>
    </message>
    <message>
        <source>Marked ranges</source>
        <translation>标记的区间</translation>
    </message>
    <message>
        <source>Top down</source>
        <translation>自顶向下</translation>
    </message>
    <message>
        <source>Bottom up</source>
        <translation>自底向上</translation>
    </message>
    <message>
        <source>Host time</source>
        <translation>主机时间</translation>
    </message>
    <message>
        <source>Device time</source>
        <translation>设备时间</translation>
    </message>
    <message>
        <source>What the tree is made of</source>
        <translation>树由什么构成</translation>
    </message>
    <message>
        <source>From callers or from what is called</source>
        <translation>从调用者或从被调用者开始</translation>
    </message>
    <message>
        <source>Whose time the widths show</source>
        <translation>宽度表示谁的时间</translation>
    </message>
    <message>
        <source>Call tree of the selected range</source>
        <translation>所选范围的调用树</translation>
    </message>
</context>
<context>
    <name>ChildJob</name>
    <message>
        <source>The command-line program could not be started.</source>
        <translation>无法启动命令行程序。</translation>
    </message>
    <message>
        <source>Install fourwalls-cli beside fourwalls.</source>
        <translation>请把 fourwalls-cli 安装在 fourwalls 旁边。</translation>
    </message>
    <message>
        <source>Cancelled.</source>
        <translation>已取消。</translation>
    </message>
    <message>
        <source>The recording program ended unexpectedly.</source>
        <translation>录制程序意外退出。</translation>
    </message>
    <message>
        <source>Open the file: it holds everything up to the last batch.</source>
        <translation>可打开该文件：其中保存了最后一批写入之前的全部内容。</translation>
    </message>
    <message>
        <source>The import ended unexpectedly; the file may be damaged.</source>
        <translation>导入意外结束；文件可能已损坏。</translation>
    </message>
</context>
<context>
    <name>ClaimUnits</name>
    <message>
        <source>billion</source>
        <translation>亿</translation>
    </message>
    <message>
        <source>devices</source>
        <translation>个设备</translation>
    </message>
    <message>
        <source>samples</source>
        <translation>个样本</translation>
    </message>
    <message>
        <source>days</source>
        <translation>天</translation>
    </message>
    <message>
        <source>months</source>
        <translation>个月</translation>
    </message>
    <message>
        <source>hours</source>
        <translation>小时</translation>
    </message>
    <message>
        <source>switches</source>
        <translation>台交换机</translation>
    </message>
    <message>
        <source>ports</source>
        <translation>个端口</translation>
    </message>
    <message>
        <source>groups</source>
        <translation>个组</translation>
    </message>
    <message>
        <source>buffers</source>
        <translation>个缓冲区</translation>
    </message>
    <message>
        <source>parameters</source>
        <translation>个参数</translation>
    </message>
    <message>
        <source>states</source>
        <translation>个状态</translation>
    </message>
    <message>
        <source>GPU-hours</source>
        <translation>GPU 小时</translation>
    </message>
    <message>
        <source>1</source>
        <comment>how many of what &quot;billion&quot; is translated with are 1,000,000,000</comment>
        <translation>10</translation>
    </message>
</context>
<context>
    <name>ClaimsModel</name>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>communication</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>performance</source>
        <translation>性能</translation>
    </message>
    <message>
        <source>tuning</source>
        <translation>调优</translation>
    </message>
    <message>
        <source>reproduced</source>
        <translation>可复现</translation>
    </message>
    <message>
        <source>differs</source>
        <translation>不符</translation>
    </message>
    <message>
        <source>cannot be checked</source>
        <translation>无法检验</translation>
    </message>
    <message>
        <source>wall</source>
        <translation>墙</translation>
    </message>
    <message>
        <source>what was published</source>
        <translation>公开的说法</translation>
    </message>
    <message>
        <source>claimed</source>
        <translation>声称值</translation>
    </message>
    <message>
        <source>computed</source>
        <translation>计算值</translation>
    </message>
    <message>
        <source>recorded</source>
        <translation>录制值</translation>
    </message>
    <message>
        <source>verdict</source>
        <translation>结论</translation>
    </message>
</context>
<context>
    <name>ClaimsPage</name>
    <message>
        <source>%1 claims: %2 reproduced, %3 differ, %4 cannot be checked</source>
        <translation>%1 条说法：%2 条可复现，%3 条不符，%4 条无法检验</translation>
    </message>
    <message>
        <source>computing…</source>
        <translation>正在计算…</translation>
    </message>
    <message>
        <source>Select a claim to see how it was computed.</source>
        <translation>选择一条说法，查看其计算过程。</translation>
    </message>
    <message>
        <source>Check the claims</source>
        <translation>检验说法</translation>
    </message>
    <message>
        <source>Why, and how it was computed</source>
        <translation>原因与计算过程</translation>
    </message>
    <message>
        <source>Published claims</source>
        <translation>公开的说法</translation>
    </message>
    <message>
        <source>Verdict</source>
        <translation>结论</translation>
    </message>
    <message>
        <source>all verdicts</source>
        <translation>全部结论</translation>
    </message>
</context>
<context>
    <name>CollectivesCard</name>
    <message>
        <source>A receive is timed from when its receiver asks, often while the message is under way: what is left says nothing of the link. The rate is that of its send.</source>
        <translation>接收从接收方请求时开始计时，此时消息往往已在途中：剩下的时间不能说明链路。速率以其发送为准。</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>the whole trace</source>
        <translation>整个轨迹</translation>
    </message>
    <message>
        <source>Collectives</source>
        <translation>集合通信</translation>
    </message>
    <message>
        <source>Collectives by kind and group</source>
        <translation>按类型和组的集合通信</translation>
    </message>
    <message>
        <source>exposed transfer</source>
        <translation>暴露的传输</translation>
    </message>
    <message>
        <source>hidden behind computation</source>
        <translation>被计算隐藏</translation>
    </message>
    <message>
        <source>waiting for others</source>
        <translation>等待其他 rank</translation>
    </message>
    <message>
        <source>operation</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>ranks</source>
        <translation>rank 数</translation>
    </message>
    <message>
        <source>Groups × members of each</source>
        <translation>组数 × 每组成员数</translation>
    </message>
    <message>
        <source>count</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>payload</source>
        <translation>载荷</translation>
    </message>
    <message>
        <source>The buffers handed to the operations, added up</source>
        <translation>提交给操作的缓冲区之和</translation>
    </message>
    <message>
        <source>wire</source>
        <translation>线上字节</translation>
    </message>
    <message>
        <source>What the busiest member really sends, added up: for a ring all-reduce 2(n−1)/n of the buffer</source>
        <translation>最忙成员实际发送量之和：环形 all-reduce 为缓冲区的 2(n−1)/n</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>传输</translation>
    </message>
    <message>
        <source>wait</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>Own arrival to last arrival, added up over members; of a receive: until its sender sends, which is the pipeline&apos;s bubble</source>
        <translation>自身到达至最后到达，按成员累加；对接收操作：直到发送方发送，即流水线气泡</translation>
    </message>
    <message>
        <source>algbw</source>
        <translation>algbw</translation>
    </message>
    <message>
        <source>Payload / transfer time</source>
        <translation>载荷 / 传输时间</translation>
    </message>
    <message>
        <source>busbw</source>
        <translation>busbw</translation>
    </message>
    <message>
        <source>algbw × 2(n−1)/n for all-reduce, (n−1)/n for all-gather and reduce-scatter: comparable with the link&apos;s rate</source>
        <translation>algbw × 2(n−1)/n（all-reduce）或 (n−1)/n（all-gather 和 reduce-scatter）：可与链路速率比较</translation>
    </message>
    <message>
        <source>hidden</source>
        <translation>隐藏</translation>
    </message>
    <message>
        <source>Share of the transfers in %1 during which the rank computed</source>
        <translation>%1中的传输时间里，rank 同时在计算的占比</translation>
    </message>
    <message>
        <source>exposed transfer %1, hidden transfer %2, waiting %3 (%4 of it while nothing was computed)</source>
        <translation>暴露传输 %1，隐藏传输 %2，等待 %3（其中 %4 期间没有计算）</translation>
    </message>
    <message>
        <source>of the collectives, %1 takes most</source>
        <translation>集合通信中 %1 占用最多</translation>
    </message>
    <message>
        <source>computation hides %1 of the transfers in %2</source>
        <translation>%2中 %1 的传输被计算隐藏</translation>
    </message>
    <message>
        <source> · only the first %1 records were read</source>
        <translation> · 只读取了前 %1 条记录</translation>
    </message>
    <message>
        <source>unknown group</source>
        <translation>未知组</translation>
    </message>
    <message>
        <source>ranks %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>%1 (wait + transfer)</source>
        <translation>%1（等待 + 传输）</translation>
    </message>
    <message>
        <source>%1 (requests only)</source>
        <translation>%1（仅有请求）</translation>
    </message>
    <message>
        <source>This trace has no collectives.</source>
        <translation>此轨迹没有集合通信。</translation>
    </message>
    <message>
        <source>None of the trace&apos;s %1 collectives is in what is looked at.</source>
        <translation>轨迹中的 %1 个集合通信都不在所看的范围内。</translation>
    </message>
    <message>
        <source>None of the trace&apos;s collectives is in what is looked at.</source>
        <translation>轨迹中的集合通信都不在所看的范围内。</translation>
    </message>
    <message>
        <source>All groups have one rank: nothing is sent.</source>
        <translation>所有组都只有一个 rank：没有发送任何内容。</translation>
    </message>
    <message>
        <source>Only the requests for collectives are in this trace, not the transfers.
Record the device&apos;s activity too (ProfilerActivity.CUDA).</source>
        <translation>此轨迹只有集合通信的请求，没有传输。
请同时记录设备活动（ProfilerActivity.CUDA）。</translation>
    </message>
    <message>
        <source>Only %1 of %2 ranks are in this trace: waiting and transfer cannot be told apart.
Open the traces of all ranks together.</source>
        <translation>此轨迹只有 %2 个 rank 中的 %1 个：无法区分等待与传输。
请一起打开所有 rank 的轨迹。</translation>
    </message>
    <message>
        <source>This trace does not say how many ranks take part, so waiting and transfer cannot be told apart.
Open the traces of all ranks together.</source>
        <translation>此轨迹没有说明有多少 rank 参与，因此无法区分等待与传输。
请一起打开所有 rank 的轨迹。</translation>
    </message>
    <message>
        <source>This trace does not say how many bytes its operations sent.</source>
        <translation>此轨迹没有说明各操作发送了多少字节。</translation>
    </message>
    <message>
        <source>Transfers take no time on this clock, because no link speed is known.
Record with a cluster whose links are known, or on the wall clock.</source>
        <translation>在此时钟上传输不花时间，因为不知道链路速度。
请用链路已知的集群记录，或按挂钟记录。</translation>
    </message>
    <message>
        <source>%1 measured steps</source>
        <translation>计入的 %1 步</translation>
    </message>
    <message>
        <source>exposed (wait + transfer where they cannot be told apart)</source>
        <translation>暴露（无法区分时为等待 + 传输）</translation>
    </message>
    <message>
        <source>Operations in %1, each counted once for all its members</source>
        <translation>%1中的操作，每个操作对其所有成员只计一次</translation>
    </message>
    <message>
        <source>Last arrival to end, added up over operations; where ranks are missing, with the waiting</source>
        <translation>从最后到达到结束，对各操作求和；缺少 rank 时包含等待</translation>
    </message>
    <message>
        <source>wait and transfer together: exposed %1, hidden %2</source>
        <translation>等待与传输合计：暴露 %1，隐藏 %2</translation>
    </message>
    <message>
        <source>computation hides %1 of the communication in %2, waiting included</source>
        <translation>%2中，计算隐藏了 %1 的通信（含等待）</translation>
    </message>
    <message>
        <source>time, %1</source>
        <translation>时间，%1</translation>
    </message>
    <message>
        <source>Transfer and waiting in %1, added up over those ranks; the longest bar is the kind that takes most</source>
        <translation>%1中这些 rank 的传输与等待之和；最长的条是占用最多的一类</translation>
    </message>
    <message>
        <source>The clocks of the ranks could not be aligned: waiting and transfer cannot be told apart.</source>
        <translation>各 rank 的时钟无法对齐：等待与传输无法区分。</translation>
    </message>
    <message>
        <source>Transfer per operation in what if, beside the recorded one</source>
        <translation>假设中每次操作的传输时间，与录制的并列</translation>
    </message>
</context>
<context>
    <name>CommunicationView</name>
    <message>
        <source>Collectives</source>
        <translation>集合通信</translation>
    </message>
    <message>
        <source>What was sent, how fast, and what of it was hidden</source>
        <translation>发送了什么、多快、其中多少被隐藏</translation>
    </message>
    <message>
        <source>Hops</source>
        <translation>逐跳</translation>
    </message>
    <message>
        <source>One operation, message by message</source>
        <translation>单个操作，逐条消息</translation>
    </message>
    <message>
        <source>Stragglers</source>
        <translation>掉队者</translation>
    </message>
    <message>
        <source>Who comes late, and how often</source>
        <translation>谁迟到，多频繁</translation>
    </message>
    <message>
        <source>Scaling</source>
        <translation>扩展性</translation>
    </message>
    <message>
        <source>More devices, other links, other algorithms</source>
        <translation>更多设备、其他链路、其他算法</translation>
    </message>
    <message>
        <source>Communication: show the operation on the timeline</source>
        <translation>通信：在时间线中显示该操作</translation>
    </message>
    <message>
        <source>Communication: play or pause the hops</source>
        <translation>通信：播放或暂停各跳</translation>
    </message>
    <message>
        <source>Transfers hidden</source>
        <translation>被隐藏的传输</translation>
    </message>
    <message>
        <source>behind computation, %1</source>
        <translation>被计算隐藏，%1</translation>
    </message>
    <message>
        <source>Sent per rank and step</source>
        <translation>每 rank 每步发送</translation>
    </message>
    <message>
        <source>bytes are not recorded</source>
        <translation>未记录字节数</translation>
    </message>
    <message>
        <source>Operations</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>in %1</source>
        <translation>%1中</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>This trace has no collectives.
If other ranks of the job were traced too, import their files together.</source>
        <translation>此轨迹没有集合通信。
如果作业的其他 rank 也有轨迹，请将这些文件一起导入。</translation>
    </message>
    <message>
        <source>One rank talks to nobody.
Record with a plan such as dp=2, or import the traces of several ranks together.</source>
        <translation>单个 rank 不与任何人通信。
用 dp=2 之类的计划录制，或将多个 rank 的轨迹一起导入。</translation>
    </message>
    <message>
        <source>only the requests are in the trace</source>
        <translation>轨迹中只有请求</translation>
    </message>
    <message>
        <source>Communication hidden</source>
        <translation>隐藏的通信</translation>
    </message>
    <message>
        <source>Requests</source>
        <translation>请求</translation>
    </message>
    <message>
        <source>in %1; %2 in the trace</source>
        <translation>%1中；整个轨迹有 %2 个</translation>
    </message>
    <message>
        <source>Late rank</source>
        <translation>迟到的 rank</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>last in %1 of %2 operations, %3</source>
        <translation>在 %2 个操作中有 %1 个最后到达，%3</translation>
    </message>
    <message>
        <source>no operation has all its ranks in the trace</source>
        <translation>没有操作的所有 rank 都在轨迹中</translation>
    </message>
    <message>
        <source>nobody is last more often than by chance, or it costs under 1 %</source>
        <translation>无 rank 比偶然更常迟到，或代价不到 1 %</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>Rank</translation>
    </message>
    <message>
        <source>Whose operations this page shows, and whose time in them</source>
        <translation>本页显示哪个 rank 的操作及其耗时</translation>
    </message>
    <message>
        <source>All ranks</source>
        <translation>所有 rank</translation>
    </message>
    <message>
        <source>Rank %1</source>
        <translation>Rank %1</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1，%2</translation>
    </message>
    <message>
        <source>of %1</source>
        <translation>%1</translation>
    </message>
    <message>
        <source>waiting included, %1</source>
        <translation>含等待，%1</translation>
    </message>
    <message>
        <source>rank %1, the busiest</source>
        <translation>rank %1，最忙的</translation>
    </message>
    <message>
        <source>%1; known for %2 of %3 operations</source>
        <translation>%1；%3 个操作中已知 %2 个</translation>
    </message>
    <message>
        <source>Nothing in this trace was recognised as a collective.
If other ranks of the job were traced too, import their files together.</source>
        <translation>此轨迹中没有识别出集合通信。
如果作业的其他 rank 也有轨迹，请将这些文件一起导入。</translation>
    </message>
    <message>
        <source>only the first %1 records of %2 were read</source>
        <translation>只读取了 %2 的前 %1 条记录</translation>
    </message>
</context>
<context>
    <name>CompareFigureModel</name>
    <message>
        <source>figure</source>
        <translation>指标</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>B − A</source>
        <translation>B − A</translation>
    </message>
    <message>
        <source>change</source>
        <translation>变化</translation>
    </message>
</context>
<context>
    <name>CompareFigures</name>
    <message>
        <source>of the step: %1</source>
        <translation>占一步：%1</translation>
    </message>
    <message>
        <source>%1 pp</source>
        <comment>percentage points</comment>
        <translation>%1 pp</translation>
    </message>
    <message>
        <source>network: %1</source>
        <translation>网络：%1</translation>
    </message>
    <message>
        <source>batch: %1</source>
        <translation>批量：%1</translation>
    </message>
    <message>
        <source>plan: %1</source>
        <translation>计划：%1</translation>
    </message>
    <message>
        <source>devices: %1</source>
        <translation>设备：%1</translation>
    </message>
    <message>
        <source>clock: %1</source>
        <translation>时钟：%1</translation>
    </message>
</context>
<context>
    <name>CompareFindingModel</name>
    <message>
        <source>gone: %1 · new: %2 · still there: %3</source>
        <translation>已消失：%1 · 新出现：%2 · 仍存在：%3</translation>
    </message>
    <message>
        <source>gone</source>
        <translation>已消失</translation>
    </message>
    <message>
        <source>new</source>
        <translation>新出现</translation>
    </message>
    <message>
        <source>still there</source>
        <translation>仍存在</translation>
    </message>
    <message>
        <source>A: %1</source>
        <translation>A：%1</translation>
    </message>
    <message>
        <source>B: %1</source>
        <translation>B：%1</translation>
    </message>
    <message>
        <source>from A to B</source>
        <translation>从 A 到 B</translation>
    </message>
    <message>
        <source>finding</source>
        <translation>发现</translation>
    </message>
    <message>
        <source>gain A</source>
        <translation>A 可节省</translation>
    </message>
    <message>
        <source>gain B</source>
        <translation>B 可节省</translation>
    </message>
    <message>
        <source>B − A</source>
        <translation>B − A</translation>
    </message>
</context>
<context>
    <name>CompareLayerModel</name>
    <message>
        <source>layer %1</source>
        <translation>第 %1 层</translation>
    </message>
    <message>
        <source>outside of layers</source>
        <translation>不属于任何层</translation>
    </message>
    <message>
        <source>most: %1, %2: %3 → %4 (%5)</source>
        <translation>变化最大：%1，%2：%3 → %4（%5）</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>B − A</source>
        <translation>B − A</translation>
    </message>
    <message>
        <source>change</source>
        <translation>变化</translation>
    </message>
</context>
<context>
    <name>CompareMakerModel</name>
    <message>
        <source>most: %1: %2 → %3</source>
        <translation>变化最大：%1：%2 → %3</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>asked for by</source>
        <translation>申请者</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>种类</translation>
    </message>
    <message>
        <source>buffers A</source>
        <translation>缓冲 A</translation>
    </message>
    <message>
        <source>buffers B</source>
        <translation>缓冲 B</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>B − A</source>
        <translation>B − A</translation>
    </message>
</context>
<context>
    <name>CompareMemoryPlot</name>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>Neither trace has allocations.</source>
        <translation>两个轨迹都没有内存分配。</translation>
    </message>
</context>
<context>
    <name>CompareOperatorModel</name>
    <message>
        <source>most: %1: %2 → %3 (%4)</source>
        <translation>变化最大：%1：%2 → %3（%4）</translation>
    </message>
    <message>
        <source>other shapes</source>
        <translation>形状不同</translation>
    </message>
    <message>
        <source>only in B</source>
        <translation>仅 B 有</translation>
    </message>
    <message>
        <source>only in A</source>
        <translation>仅 A 有</translation>
    </message>
    <message>
        <source>name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>shape</source>
        <translation>形状</translation>
    </message>
    <message>
        <source>count A</source>
        <translation>A 次数</translation>
    </message>
    <message>
        <source>count B</source>
        <translation>B 次数</translation>
    </message>
    <message>
        <source>A</source>
        <translation>A</translation>
    </message>
    <message>
        <source>B</source>
        <translation>B</translation>
    </message>
    <message>
        <source>B − A</source>
        <translation>B − A</translation>
    </message>
    <message>
        <source>change</source>
        <translation>变化</translation>
    </message>
</context>
<context>
    <name>CompareView</name>
    <message>
        <source>The traces could not be compared.
%1</source>
        <translation>无法比较这两个轨迹。
%1</translation>
    </message>
    <message>
        <source>Open a trace first.</source>
        <translation>请先打开一个轨迹。</translation>
    </message>
    <message>
        <source>Choose a second trace to compare this one with: another run, another plan, or a prediction.</source>
        <translation>选择第二个轨迹与此轨迹比较：另一次运行、另一个计划或一个预测。</translation>
    </message>
    <message>
        <source>Opening…</source>
        <translation>正在打开…</translation>
    </message>
    <message>
        <source>A · %1</source>
        <translation>A · %1</translation>
    </message>
    <message>
        <source>B · %1</source>
        <translation>B · %1</translation>
    </message>
    <message>
        <source>%1 from A to B</source>
        <translation>从 A 到 B：%1</translation>
    </message>
    <message>
        <source>worse most: %1, %2</source>
        <translation>变差最多：%1，%2</translation>
    </message>
    <message>
        <source>step time, throughput and peak memory did not get worse</source>
        <translation>步时间、吞吐与峰值内存均未变差</translation>
    </message>
    <message>
        <source>Compare with…</source>
        <translation>比较对象…</translation>
    </message>
    <message>
        <source>Another trace…</source>
        <translation>另一个轨迹…</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>A blue, B black · predicted: dashed, violet</source>
        <translation>A 蓝色，B 黑色 · 预测：紫色虚线</translation>
    </message>
    <message>
        <source>A blue, B white · predicted: dashed, violet</source>
        <translation>A 蓝色，B 白色 · 预测：紫色虚线</translation>
    </message>
    <message>
        <source>Figures</source>
        <translation>指标</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>各层</translation>
    </message>
    <message>
        <source>Figures of both traces</source>
        <translation>两个轨迹的指标</translation>
    </message>
    <message>
        <source>Compute time of the layers of both traces</source>
        <translation>两个轨迹各层的计算时间</translation>
    </message>
    <message>
        <source>Compute time per rank and step; what changed most comes first</source>
        <translation>每 rank 每步的计算时间；变化最大的排在最前</translation>
    </message>
    <message>
        <source>Compare with another trace…</source>
        <translation>与另一个轨迹比较…</translation>
    </message>
    <message>
        <source>Show everything</source>
        <translation>显示全部</translation>
    </message>
    <message>
        <source>Timeline of A</source>
        <translation>A 的时间线</translation>
    </message>
    <message>
        <source>Timeline of B</source>
        <translation>B 的时间线</translation>
    </message>
    <message>
        <source>Kernels</source>
        <translation>内核</translation>
    </message>
    <message>
        <source>What is compared in the table</source>
        <translation>表中比较什么</translation>
    </message>
    <message>
        <source>What changed</source>
        <translation>变化</translation>
    </message>
    <message>
        <source>Kernels and operators of both traces</source>
        <translation>两条轨迹的内核与算子</translation>
    </message>
    <message>
        <source>Per rank and step, matched by name and shape; what changed most comes first</source>
        <translation>每个 rank 每步，按名称与形状匹配；变化最大的在最前</translation>
    </message>
    <message>
        <source>Buffers of both traces by who asked for them</source>
        <translation>两条轨迹的缓冲，按申请者</translation>
    </message>
    <message>
        <source>Findings</source>
        <translation>发现</translation>
    </message>
    <message>
        <source>Findings of both traces</source>
        <translation>两个轨迹的发现</translation>
    </message>
    <message>
        <source>What is wrong or costs in A and in B, and what the step would gain without it</source>
        <translation>A 和 B 中的问题与开销，以及消除后该步可节省的时间</translation>
    </message>
    <message>
        <source>Memory of both traces over time</source>
        <translation>两条轨迹的内存随时间变化</translation>
    </message>
    <message>
        <source>Memory at the peak</source>
        <translation>峰值时的内存</translation>
    </message>
    <message>
        <source>Memory at the end</source>
        <translation>结束时的内存</translation>
    </message>
    <message>
        <source>What is alive on each trace&apos;s fullest rank, at its peak or at the end; what changed most comes first</source>
        <translation>每条轨迹最满的 rank 在峰值时或结束时存活的内存；变化最大的在前</translation>
    </message>
    <message>
        <source>Colour by change</source>
        <translation>按变化着色</translation>
    </message>
    <message>
        <source>Kernels and operators that take longer in B are red, shorter ones green</source>
        <translation>在 B 中更长的内核与算子为红色，更短的为绿色</translation>
    </message>
    <message>
        <source>shorter in B by a fifth or more</source>
        <translation>B 中短五分之一以上</translation>
    </message>
    <message>
        <source>shorter</source>
        <translation>更短</translation>
    </message>
    <message>
        <source>as long</source>
        <translation>相同</translation>
    </message>
    <message>
        <source>longer</source>
        <translation>更长</translation>
    </message>
    <message>
        <source>longer by a fifth or more</source>
        <translation>长五分之一以上</translation>
    </message>
    <message>
        <source>only in one</source>
        <translation>只有一方有</translation>
    </message>
    <message>
        <source>Different from A to B: %1</source>
        <translation>A 与 B 的不同：%1</translation>
    </message>
    <message>
        <source>of different things: better and worse say little</source>
        <translation>比较的不是同一件事：好坏意义不大</translation>
    </message>
</context>
<context>
    <name>CostWords</name>
    <message>
        <source>matrix products</source>
        <translation>矩阵乘</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <source>memory-bound operators</source>
        <translation>内存受限算子</translation>
    </message>
    <message>
        <source>launching</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>tensor-parallel communication</source>
        <translation>张量并行通信</translation>
    </message>
    <message>
        <source>context-parallel communication</source>
        <translation>上下文并行通信</translation>
    </message>
    <message>
        <source>expert-parallel communication</source>
        <translation>专家并行通信</translation>
    </message>
    <message>
        <source>gathering of parameters</source>
        <translation>参数收集</translation>
    </message>
    <message>
        <source>reduction of gradients</source>
        <translation>梯度归约</translation>
    </message>
    <message>
        <source>sending between stages</source>
        <translation>流水级间发送</translation>
    </message>
    <message>
        <source>copies to and from the host</source>
        <translation>与主机之间的拷贝</translation>
    </message>
    <message>
        <source>computation slowed by communication</source>
        <translation>被通信拖慢的计算</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <source>the pipeline bubble</source>
        <translation>流水线气泡</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>gradients</source>
        <translation>梯度</translation>
    </message>
    <message>
        <source>optimizer state</source>
        <translation>优化器状态</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>激活</translation>
    </message>
    <message>
        <source>temporaries</source>
        <translation>临时量</translation>
    </message>
    <message>
        <source>communication buffers</source>
        <translation>通信缓冲区</translation>
    </message>
    <message>
        <source>driver, libraries and slack</source>
        <translation>驱动、库与余量</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%2占 %1</translation>
    </message>
    <message>
        <source>A rank needs %1, with %2. How much the device has is not known.</source>
        <translation>每个 rank 需要 %1，其中 %2。设备容量未知。</translation>
    </message>
    <message>
        <source>Fits: a rank needs %1 of %2, with %3.</source>
        <translation>放得下：每个 rank 需要 %2 中的 %1，其中 %3。</translation>
    </message>
    <message>
        <source>Does not fit: a rank needs %1, %2 more than the %3 of the device, with %4.</source>
        <translation>放不下：每个 rank 需要 %1，比设备的 %3 多 %2，其中 %4。</translation>
    </message>
    <message>
        <source>guessed</source>
        <translation>推测</translation>
    </message>
    <message>
        <source>Nothing is predicted: this trace does not say which network ran on which machines.</source>
        <translation>不作预测：此轨迹没有说明在哪些机器上运行了哪个网络。</translation>
    </message>
    <message>
        <source>To fill in: %1.</source>
        <translation>请填写：%1。</translation>
    </message>
    <message>
        <source>Nothing is predicted: too little of the network and its plan shows in this trace.</source>
        <translation>不作预测：此轨迹中能看到的网络和并行方案太少。</translation>
    </message>
    <message>
        <source>Nothing is predicted: what could be guessed does not match what was recorded (%1: expected %2, found %3).</source>
        <translation>不作预测：推测的内容与记录不符（%1：应为 %2，实为 %3）。</translation>
    </message>
    <message>
        <source>Nothing is predicted: the trace has no measured step to hold a model against.</source>
        <translation>不作预测：轨迹中没有可供模型对照的实测步。</translation>
    </message>
    <message>
        <source>The model does not describe this trace: it predicts a step of %1, recorded were %2.</source>
        <translation>模型不能描述此轨迹：预测的步长为 %1，记录为 %2。</translation>
    </message>
    <message>
        <source>Nothing is predicted: no machine among the presets has this device (%1).</source>
        <translation>不作预测：预设的机器中没有这种设备（%1）。</translation>
    </message>
    <message>
        <source>Inferred: %1.</source>
        <translation>推断：%1。</translation>
    </message>
    <message>
        <source>No training step is predicted: a memory snapshot does not say what ran.</source>
        <translation>不预测训练步：内存快照不说明运行了什么。</translation>
    </message>
    <message>
        <source>No training step is predicted: no optimizer&apos;s step was found in this trace.</source>
        <translation>不预测训练步：此轨迹中没有找到优化器的步。</translation>
    </message>
    <message>
        <source>No training step is predicted: no backward pass was found in this trace.</source>
        <translation>不预测训练步：此轨迹中没有找到反向传播。</translation>
    </message>
    <message>
        <source>No training step is predicted: neither a backward pass nor an optimizer&apos;s step was found in this trace.</source>
        <translation>不预测训练步：此轨迹中既没有找到反向传播，也没有找到优化器的步。</translation>
    </message>
    <message>
        <source>%1 (or %2, %3 as likely)</source>
        <translation>%1（或 %2，可能性为其 %3）</translation>
    </message>
    <message>
        <source>device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>ffn_hidden</source>
        <translation>前馈宽度</translation>
    </message>
    <message>
        <source>heads</source>
        <translation>注意力头数</translation>
    </message>
    <message>
        <source>hidden</source>
        <translation>隐藏宽度</translation>
    </message>
    <message>
        <source>kv_heads</source>
        <translation>键值头数</translation>
    </message>
    <message>
        <source>layers</source>
        <translation>层数</translation>
    </message>
    <message>
        <source>microbatches</source>
        <translation>微批次数</translation>
    </message>
    <message>
        <source>microbatch_size</source>
        <translation>微批次大小</translation>
    </message>
    <message>
        <source>precision</source>
        <translation>精度</translation>
    </message>
    <message>
        <source>sequence</source>
        <translation>序列长度</translation>
    </message>
    <message>
        <source>vocabulary</source>
        <translation>词表大小</translation>
    </message>
    <message>
        <source>world_size</source>
        <translation>进程总数</translation>
    </message>
    <message>
        <source>replayed</source>
        <translation>重放</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>replayed %1</source>
        <translation>重放 %1</translation>
    </message>
    <message>
        <source>predicted %1</source>
        <translation>预测 %1</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>peak</source>
        <translation>峰值算力</translation>
    </message>
    <message>
        <source>link</source>
        <translation>链路</translation>
    </message>
    <message>
        <source>memory bandwidth</source>
        <translation>内存带宽</translation>
    </message>
</context>
<context>
    <name>CounterCurves</name>
    <message>
        <source>no value yet</source>
        <translation>尚无数值</translation>
    </message>
    <message>
        <source>from %1 to %2 within this pixel</source>
        <translation>此像素内从 %1 到 %2</translation>
    </message>
    <message>
        <source>%1%2 per second</source>
        <translation>每秒 %1%2</translation>
    </message>
    <message>
        <source>%1 to %2 over the trace</source>
        <translation>整条轨迹 %1 至 %2</translation>
    </message>
    <message>
        <source>last step, ms</source>
        <translation>最近一步，ms</translation>
    </message>
    <message>
        <source>last step, CPU, ms</source>
        <translation>最近一步 CPU，ms</translation>
    </message>
</context>
<context>
    <name>DemoPanel</name>
    <message>
        <source>%1 · %2 of %3</source>
        <translation>%1 · %2 / %3</translation>
    </message>
    <message>
        <source>Reading the figures…</source>
        <translation>正在读取数据…</translation>
    </message>
    <message>
        <source>Try: %1</source>
        <translation>试试：%1</translation>
    </message>
    <message>
        <source>Next</source>
        <translation>下一步</translation>
    </message>
    <message>
        <source>Done</source>
        <translation>完成</translation>
    </message>
    <message>
        <source>Show the answer</source>
        <translation>显示答案</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <source>Open a trace…</source>
        <translation>打开轨迹…</translation>
    </message>
    <message>
        <source>Record a training…</source>
        <translation>录制训练…</translation>
    </message>
    <message>
        <source>More demos</source>
        <translation>更多演示</translation>
    </message>
    <message>
        <source>End the demo</source>
        <translation>结束演示</translation>
    </message>
    <message>
        <source>The step before (Alt+Left)</source>
        <translation>上一步（Alt+Left）</translation>
    </message>
    <message>
        <source>The next step (Alt+Right)</source>
        <translation>下一步（Alt+Right）</translation>
    </message>
    <message>
        <source>Think first; the answer is on the screen (Alt+Down)</source>
        <translation>先想一想；答案就在屏幕上（Alt+Down）</translation>
    </message>
</context>
<context>
    <name>DemosPage</name>
    <message>
        <source>Demos: one minute each</source>
        <translation>演示：每个一分钟</translation>
    </message>
    <message>
        <source>Small traces of real training steps, with a question whose answer is on the screen. Every figure in the texts is read from the trace.</source>
        <translation>真实训练步的小型轨迹，附一个答案就在屏幕上的问题。文中每个数字都读自轨迹。</translation>
    </message>
    <message>
        <source>Memory wall</source>
        <translation>内存墙</translation>
    </message>
    <message>
        <source>Communication wall</source>
        <translation>通信墙</translation>
    </message>
    <message>
        <source>Performance wall</source>
        <translation>性能墙</translation>
    </message>
    <message>
        <source>Tuning wall</source>
        <translation>调优墙</translation>
    </message>
    <message>
        <source>Open a demo file…</source>
        <translation>打开演示文件…</translation>
    </message>
    <message>
        <source>A demo is a plain text file: teachers can write their own.</source>
        <translation>演示是纯文本文件：教师可以自己编写。</translation>
    </message>
</context>
<context>
    <name>DetailsPanel</name>
    <message>
        <source>Details of the selected slice</source>
        <translation>所选切片的详细信息</translation>
    </message>
    <message>
        <source>No slice is selected.</source>
        <translation>没有选中切片。</translation>
    </message>
    <message>
        <source>forward</source>
        <translation>前向</translation>
    </message>
    <message>
        <source>backward, input</source>
        <translation>反向（输入）</translation>
    </message>
    <message>
        <source>backward, weight</source>
        <translation>反向（权重）</translation>
    </message>
    <message>
        <source>recomputation</source>
        <translation>重计算</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <source>communication</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>copy, data</source>
        <translation>拷贝、数据</translation>
    </message>
    <message>
        <source>other compute</source>
        <translation>其他计算</translation>
    </message>
    <message>
        <source>structure</source>
        <translation>结构</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>Copy details</source>
        <translation>复制详情</translation>
    </message>
    <message>
        <source>matrix product</source>
        <translation>矩阵乘法</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>注意力</translation>
    </message>
    <message>
        <source>reduction</source>
        <translation>归约</translation>
    </message>
    <message>
        <source>elementwise</source>
        <translation>逐元素</translation>
    </message>
    <message>
        <source>CPU operator</source>
        <translation>CPU 算子</translation>
    </message>
    <message>
        <source>previous</source>
        <translation>上一个</translation>
    </message>
    <message>
        <source>next</source>
        <translation>下一个</translation>
    </message>
    <message>
        <source>Click a slice for its details, double-click to zoom to it, drag with Ctrl for statistics.</source>
        <translation>单击切片查看详情，双击放大到它，按住 Ctrl 拖动查看统计。</translation>
    </message>
    <message>
        <source>Copy what is marked</source>
        <translation>复制所选文字</translation>
    </message>
    <message>
        <source>Copy the name</source>
        <translation>复制名称</translation>
    </message>
    <message>
        <source>no phase</source>
        <translation>无阶段</translation>
    </message>
    <message>
        <source>one colour for each name, some share one</source>
        <translation>每个名称一种颜色，个别名称共用</translation>
    </message>
    <message>
        <source>one colour for the same stream of all ranks</source>
        <translation>所有 rank 的同一条流用同一种颜色</translation>
    </message>
    <message>
        <source>one colour for each layer or module, some share one</source>
        <translation>每个层或模块一种颜色，有些共用</translation>
    </message>
    <message>
        <source>no module known</source>
        <translation>模块未知</translation>
    </message>
</context>
<context>
    <name>DocumentsBox</name>
    <message>
        <source>whole sequences</source>
        <translation>整个序列</translation>
    </message>
    <message>
        <source>Documents are lengths such as 512, or 6x512,3x2048</source>
        <translation>文档写成长度，例如 512，或 6x512,3x2048</translation>
    </message>
</context>
<context>
    <name>ExpertPlot</name>
    <message>
        <source>layer %1, expert %2: %3 tokens, %4 × the mean</source>
        <translation>第 %1 层，专家 %2：%3 个 token，平均值的 %4 倍</translation>
    </message>
    <message>
        <source>expert</source>
        <translation>专家</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>平均</translation>
    </message>
    <message>
        <source>expert %1</source>
        <translation>专家 %1</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>第 %1 层</translation>
    </message>
</context>
<context>
    <name>ExpertsPage</name>
    <message>
        <source>Tokens by expert</source>
        <translation>各专家的 token</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>If experts had a capacity</source>
        <translation>若专家有容量上限</translation>
    </message>
    <message>
        <source>Tokens of each expert of each layer</source>
        <translation>每层每个专家的 token</translation>
    </message>
    <message>
        <source>Tokens and time of the experts by rank</source>
        <translation>按 rank 的专家 token 与时间</translation>
    </message>
    <message>
        <source>Tokens that would be dropped</source>
        <translation>会被丢弃的 token</translation>
    </message>
    <message>
        <source>all experts get the same</source>
        <translation>各专家所得相同</translation>
    </message>
    <message>
        <source>layer %1: expert %2 gets %3 × the mean</source>
        <translation>第 %1 层：专家 %2 得到平均值的 %3 倍</translation>
    </message>
    <message>
        <source>, step %1</source>
        <translation>，第 %1 步</translation>
    </message>
    <message>
        <source>A prediction takes experts as equally loaded.</source>
        <translation>预测假定各专家负载相同。</translation>
    </message>
    <message>
        <source>This trace does not count the tokens of experts.
To see them, record a mixture of experts:
fourwalls-cli record -o moe.fourwalls --model moe-tiny --plan &quot;dp=2 ep=2 routing=natural&quot;</source>
        <translation>此轨迹未统计各专家的 token。
要看到它们，请录制一个专家混合模型：
fourwalls-cli record -o moe.fourwalls --model moe-tiny --plan &quot;dp=2 ep=2 routing=natural&quot;</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>experts</source>
        <translation>专家数</translation>
    </message>
    <message>
        <source>That this rank holds, of each layer</source>
        <translation>此 rank 每层所持有的专家数</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>token</translation>
    </message>
    <message>
        <source>That its experts got in the step, all layers</source>
        <translation>其专家在该步所得，所有层合计</translation>
    </message>
    <message>
        <source>products</source>
        <translation>矩阵乘</translation>
    </message>
    <message>
        <source>Time of its experts&apos; products, forward and backward</source>
        <translation>其专家的矩阵乘时间，前向与反向</translation>
    </message>
    <message>
        <source>waited</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>For the last rank of its all-to-alls, added up</source>
        <translation>在其 all-to-all 中等待最后一个 rank 的时间合计</translation>
    </message>
    <message>
        <source>even loads would save at most %1, %2 of the step</source>
        <translation>负载均匀至多可省 %1，占该步 %2</translation>
    </message>
    <message>
        <source>every rank has all experts: no rank waits for another one&apos;s</source>
        <translation>每个 rank 都有全部专家：无需等待其他 rank 的专家</translation>
    </message>
    <message>
        <source> · ranks left out: %1</source>
        <translation> · 略去的 rank：%1</translation>
    </message>
    <message>
        <source>An expert of capacity factor c takes at most c times the mean of a micro-batch; the tokens beyond it skip the layer (Fedus et al. 2021, Switch Transformers)</source>
        <translation>容量因子为 c 的专家至多接收一个微批平均值的 c 倍；超出的 token 跳过该层（Fedus 等 2021，Switch Transformers）</translation>
    </message>
    <message>
        <source>capacity factor</source>
        <translation>容量因子</translation>
    </message>
    <message>
        <source>tokens dropped</source>
        <translation>丢弃的 token</translation>
    </message>
    <message>
        <source>the recording dropped none</source>
        <translation>录制中没有丢弃</translation>
    </message>
</context>
<context>
    <name>Figures</name>
    <message>
        <source>step time</source>
        <translation>步时间</translation>
    </message>
    <message>
        <source>From the first rank&apos;s start to the last rank&apos;s end: the median of the measured steps, or the simulated step.</source>
        <translation>从第一个 rank 开始到最后一个 rank 结束：测量步的中位数，或模拟的一步。</translation>
    </message>
    <message>
        <source>tokens per second</source>
        <translation>每秒 token 数</translation>
    </message>
    <message>
        <source>Global batch × sequence / step time, over all ranks.</source>
        <translation>全局批量 × 序列长度 / 步时间，所有 rank 合计。</translation>
    </message>
    <message>
        <source>samples per second</source>
        <translation>每秒样本数</translation>
    </message>
    <message>
        <source>Global batch / step time, over all ranks.</source>
        <translation>全局批量 / 步时间，所有 rank 合计。</translation>
    </message>
    <message>
        <source>MFU</source>
        <translation>MFU</translation>
    </message>
    <message>
        <source>Model FLOPs / (peak × devices × step time): the share of the devices&apos; peak that trains. Causal attention counts half.</source>
        <translation>模型 FLOPs / (峰值 × 设备数 × 步时间)：设备峰值中用于训练的比例。因果注意力按一半计。</translation>
    </message>
    <message>
        <source>MFU, full attention</source>
        <translation>MFU（完整注意力）</translation>
    </message>
    <message>
        <source>MFU that counts causal attention whole, as some publications do.</source>
        <translation>按完整因果注意力计算的 MFU，一些论文采用此法。</translation>
    </message>
    <message>
        <source>HFU</source>
        <translation>HFU</translation>
    </message>
    <message>
        <source>As MFU, but recomputation counts as work.</source>
        <translation>同 MFU，但重计算也算作工作。</translation>
    </message>
    <message>
        <source>FLOP/s of a device</source>
        <translation>单设备 FLOP/s</translation>
    </message>
    <message>
        <source>Model FLOPs of one device / step time.</source>
        <translation>单设备的模型 FLOPs / 步时间。</translation>
    </message>
    <message>
        <source>FLOPs known</source>
        <translation>已知 FLOPs 的比例</translation>
    </message>
    <message>
        <source>Share of the compute time in kernels whose FLOPs are known.</source>
        <translation>FLOPs 已知的内核占计算时间的比例。</translation>
    </message>
    <message>
        <source>FLOPs of matrix products known</source>
        <translation>已知 FLOPs 的矩阵乘比例</translation>
    </message>
    <message>
        <source>Share of the time of matrix products and convolutions whose FLOPs are known.</source>
        <translation>矩阵乘与卷积的时间中 FLOPs 已知的比例。</translation>
    </message>
    <message>
        <source>peak FLOP/s of a device</source>
        <translation>单设备峰值 FLOP/s</translation>
    </message>
    <message>
        <source>What MFU is of: the dense rate of the arithmetic that ran.</source>
        <translation>MFU 所参照的峰值：实际运行的算术类型的稠密速率。</translation>
    </message>
    <message>
        <source>peak memory</source>
        <translation>峰值内存</translation>
    </message>
    <message>
        <source>Largest sum of live buffers on the fullest rank.</source>
        <translation>最满 rank 上活跃缓冲区的最大总和。</translation>
    </message>
    <message>
        <source>bubble</source>
        <translation>气泡</translation>
    </message>
    <message>
        <source>Share of the pipeline&apos;s window in which a stage is not busy: (W - busy) / W, mean over the stages.</source>
        <translation>流水线窗口中流水级不忙的比例：(W - 忙碌) / W，各级平均。</translation>
    </message>
    <message>
        <source>exposed communication</source>
        <translation>暴露通信</translation>
    </message>
    <message>
        <source>Share of the step in which a rank communicates and computes nothing beside it. Waiting in collectives counts.</source>
        <translation>一步中 rank 只通信而不计算的时间比例，包括集合通信中的等待。</translation>
    </message>
    <message>
        <source>exposed copies</source>
        <translation>暴露拷贝</translation>
    </message>
    <message>
        <source>Share of the step in copies that neither computation nor communication hides.</source>
        <translation>一步中既未被计算也未被通信隐藏的拷贝比例。</translation>
    </message>
    <message>
        <source>idle</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>Share of the step in which nothing runs and no stage waits for another.</source>
        <translation>一步中没有任何运行、也没有流水级等待其他级的时间比例。</translation>
    </message>
    <message>
        <source>bytes sent</source>
        <translation>发送字节</translation>
    </message>
    <message>
        <source>What a rank sends in all collectives of the measured steps.</source>
        <translation>测量步的所有集合通信中一个 rank 发送的字节。</translation>
    </message>
    <message>
        <source>recorder overhead</source>
        <translation>录制开销</translation>
    </message>
    <message>
        <source>What recording cost of a step: calibrated cost of an event × events, and the writer&apos;s time on the recorded cores.</source>
        <translation>录制在一步中的开销：单个事件的校准开销 × 事件数，加上写线程占用被录制核心的时间。</translation>
    </message>
    <message>
        <source>recorder overhead, measured</source>
        <translation>录制开销（实测）</translation>
    </message>
    <message>
        <source>Recorded steps against the same steps without recording.</source>
        <translation>录制的步与不录制的同样的步相比。</translation>
    </message>
    <message>
        <source>achieved</source>
        <translation>实际达到</translation>
    </message>
    <message>
        <source>Model FLOP/s utilisation: model FLOPs / (peak × devices × step time).</source>
        <translation>模型 FLOP/s 利用率：模型 FLOPs / (峰值 × 设备数 × 步时间)。</translation>
    </message>
    <message>
        <source>recomputation</source>
        <translation>重计算</translation>
    </message>
    <message>
        <source>FLOPs done again in the backward pass instead of keeping activations: FLOPs / (peak × time).</source>
        <translation>不保留激活而在反向中重做的 FLOPs：FLOPs / (峰值 × 时间)。</translation>
    </message>
    <message>
        <source>recompute</source>
        <translation>重计算</translation>
    </message>
    <message>
        <source>memory-bound</source>
        <translation>内存受限</translation>
    </message>
    <message>
        <source>Kernels whose bytes take longer than their FLOPs: compute time beyond FLOPs / peak.</source>
        <translation>访存时间长于运算时间的内核：超出 FLOPs / 峰值的计算时间。</translation>
    </message>
    <message>
        <source>inefficiency</source>
        <translation>低效</translation>
    </message>
    <message>
        <source>Compute-bound kernels: their time beyond FLOPs / peak.</source>
        <translation>计算受限内核：超出 FLOPs / 峰值的时间。</translation>
    </message>
    <message>
        <source>other compute</source>
        <translation>其他计算</translation>
    </message>
    <message>
        <source>Kernels of which neither FLOPs nor bytes are known: what they could reach is unknown.</source>
        <translation>FLOPs 与字节数均未知的内核：其可达到的性能未知。</translation>
    </message>
    <message>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>Time in which something is computed. FLOPs or the peak are unknown, so it cannot be taken apart.</source>
        <translation>有计算的时间。FLOPs 或峰值未知，因此无法细分。</translation>
    </message>
    <message>
        <source>A pipeline stage waits for its neighbours, or is empty at the begin and end of the step.</source>
        <translation>流水级等待相邻级，或在一步的开头和结尾空闲。</translation>
    </message>
    <message>
        <source>Transfers, and waiting in collectives, that no computation hides.</source>
        <translation>没有被计算隐藏的传输与集合通信等待。</translation>
    </message>
    <message>
        <source>exposed comm</source>
        <translation>暴露通信</translation>
    </message>
    <message>
        <source>Copies and fills of memory by the device, in any direction, that nothing hides.</source>
        <translation>没有被隐藏的、由设备执行的内存拷贝与填充（任意方向）。</translation>
    </message>
    <message>
        <source>exposed copy</source>
        <translation>暴露拷贝</translation>
    </message>
    <message>
        <source>Nothing runs on the device, for none of the other reasons.</source>
        <translation>设备上没有任何运行，且不属于其他原因。</translation>
    </message>
    <message>
        <source>data loading</source>
        <translation>数据加载</translation>
    </message>
    <message>
        <source>Idle: waiting for the next samples.</source>
        <translation>空闲：等待下一批样本。</translation>
    </message>
    <message>
        <source>launch</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>Idle: the host does not launch kernels quickly enough.</source>
        <translation>空闲：主机启动内核不够快。</translation>
    </message>
    <message>
        <source>synchronisation</source>
        <translation>同步</translation>
    </message>
    <message>
        <source>Idle: the host waits for the device, or ranks for one another.</source>
        <translation>空闲：主机等待设备，或 rank 互相等待。</translation>
    </message>
    <message>
        <source>synchronise</source>
        <translation>同步</translation>
    </message>
    <message>
        <source>other idle</source>
        <translation>其他空闲</translation>
    </message>
    <message>
        <source>Idle for reasons that the trace does not tell.</source>
        <translation>空闲：轨迹未说明原因。</translation>
    </message>
    <message>
        <source>bubble of the pipeline</source>
        <translation>流水线窗口气泡</translation>
    </message>
</context>
<context>
    <name>FileOpener</name>
    <message>
        <source>Open a trace</source>
        <translation>打开轨迹文件</translation>
    </message>
    <message>
        <source>Traces and profiles (%1);;Fourwalls traces (*.fourwalls);;All files (*)</source>
        <translation>轨迹和性能分析文件 (%1);;Fourwalls 轨迹 (*.fourwalls);;所有文件 (*)</translation>
    </message>
    <message>
        <source>Open a folder of profiles</source>
        <translation>打开性能剖析文件夹</translation>
    </message>
    <message>
        <source>Open the profiles and the memory snapshot of the run together: they become one trace.</source>
        <translation>请把这次运行的性能记录与内存快照一起打开：它们会成为一个轨迹。</translation>
    </message>
    <message>
        <source>Add a memory snapshot of the same run</source>
        <translation>添加同一次运行的内存快照</translation>
    </message>
    <message>
        <source>Memory snapshots (*.pickle *.pkl);;All files (*)</source>
        <translation>内存快照 (*.pickle *.pkl);;所有文件 (*)</translation>
    </message>
    <message>
        <source>Importing %1</source>
        <translation>正在导入 %1</translation>
    </message>
    <message numerus="yes">
        <source>Importing %1 and %n more file(s) as one run</source>
        <translation>
            <numerusform>正在将 %1 与另外 %n 个文件作为一次运行导入</numerusform>
        </translation>
    </message>
    <message>
        <source>The steps of this trace are its recorder&apos;s own; those of imported traces can be chosen.</source>
        <translation>此轨迹的步由记录器给出；导入的轨迹才可以选择步。</translation>
    </message>
    <message>
        <source>Computing the steps</source>
        <translation>正在计算步</translation>
    </message>
</context>
<context>
    <name>FindBox</name>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>at %1</source>
        <translation>于 %1</translation>
    </message>
    <message>
        <source>Find anything</source>
        <translation>查找任何内容</translation>
    </message>
    <message>
        <source>A slice, layer, step, rank, view, setting, command or file</source>
        <translation>切片、层、步、rank、视图、设置、命令或文件</translation>
    </message>
    <message>
        <source>What was found</source>
        <translation>找到的内容</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>第 %1 层</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>Mark everything with “%1” on the timeline</source>
        <translation>在时间线上标出所有含“%1”的切片</translation>
    </message>
    <message numerus="yes">
        <source>%n more</source>
        <translation>
            <numerusform>还有 %n 个</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>FindItems</name>
    <message>
        <source>Names</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>Next slices</source>
        <translation>接下来的切片</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>层</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>训练步</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>Tracks</source>
        <translation>轨道</translation>
    </message>
    <message>
        <source>Views</source>
        <translation>视图</translation>
    </message>
    <message>
        <source>Tables</source>
        <translation>表格</translation>
    </message>
    <message>
        <source>Commands</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Settings</source>
        <translation>设置</translation>
    </message>
    <message>
        <source>Files</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Bookmarks</source>
        <translation>书签</translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation>时间线</translation>
    </message>
</context>
<context>
    <name>FindingWords</name>
    <message>
        <source>%1 MHz</source>
        <translation>%1 MHz</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>the whole trace</source>
        <translation>整个轨迹</translation>
    </message>
    <message>
        <source>%1 of %2 (%3)</source>
        <translation>%2的 %1（%3）</translation>
    </message>
    <message>
        <source>%1, mean of %2 ranks</source>
        <translation>%1，%2 个 rank 的平均</translation>
    </message>
    <message>
        <source>%1 per rank</source>
        <translation>每个 rank %1</translation>
    </message>
    <message>
        <source>%1 per step and rank</source>
        <translation>每步每个 rank %1</translation>
    </message>
    <message>
        <source>%1 per step</source>
        <translation>每步 %1</translation>
    </message>
    <message>
        <source>Rank %1 waits for rank %2</source>
        <translation>rank %1 等待 rank %2</translation>
    </message>
    <message>
        <source>The other ranks wait for rank %1</source>
        <translation>其他 rank 等待 rank %1</translation>
    </message>
    <message>
        <source>Ranks wait for one another in collectives</source>
        <translation>各 rank 在集合通信中互相等待</translation>
    </message>
    <message>
        <source>Communication (waiting and transfer) that nothing hides</source>
        <translation>未被掩盖的通信（等待与传输）</translation>
    </message>
    <message>
        <source>Transfers that no computation hides</source>
        <translation>未被计算掩盖的传输</translation>
    </message>
    <message>
        <source>The device waits for work from the program</source>
        <translation>设备在等待程序下发任务</translation>
    </message>
    <message>
        <source>The program waits in synchronising calls while no device work is recorded</source>
        <translation>程序在同步调用中等待，而此时没有记录到设备工作</translation>
    </message>
    <message>
        <source>The device waits for data</source>
        <translation>设备在等待数据</translation>
    </message>
    <message>
        <source>Copies that no computation hides</source>
        <translation>未被计算掩盖的拷贝</translation>
    </message>
    <message>
        <source>Many kernels that take less than %1 on average</source>
        <translation>许多平均短于 %1 的内核</translation>
    </message>
    <message>
        <source>Pipeline stages wait for one another</source>
        <translation>流水级互相等待</translation>
    </message>
    <message>
        <source>Power or temperature lowers the clock</source>
        <translation>功耗或温度使时钟频率降低</translation>
    </message>
    <message>
        <source>Memory is nearly full</source>
        <translation>显存几乎已满</translation>
    </message>
    <message>
        <source>Memory ran out</source>
        <translation>内存不足</translation>
    </message>
    <message>
        <source>it comes last in %1 of %2 operations</source>
        <translation>它在 %2 次操作中有 %1 次最后到达</translation>
    </message>
    <message>
        <source>in %1 operations, no rank is late more often than by chance</source>
        <translation>共 %1 次操作，没有哪个 rank 比随机更常迟到</translation>
    </message>
    <message>
        <source>launches cover %1</source>
        <translation>其中启动调用占 %1</translation>
    </message>
    <message>
        <source>%1 kernels</source>
        <translation>%1 个内核</translation>
    </message>
    <message>
        <source>mostly %1</source>
        <translation>主要是 %1</translation>
    </message>
    <message>
        <source>%1 instead of %2 in %3 of the sampled time</source>
        <translation>在 %3 的采样时间里为 %1，而不是 %2</translation>
    </message>
    <message>
        <source>peak %1 of %2 (%3)</source>
        <translation>峰值 %1 / %2（%3）</translation>
    </message>
    <message>
        <source>%1 ranks</source>
        <translation>%1 个 rank</translation>
    </message>
    <message>
        <source>once</source>
        <translation>一次</translation>
    </message>
    <message>
        <source>%1 times</source>
        <translation>%1 次</translation>
    </message>
    <message>
        <source>on %1 ranks</source>
        <translation>在 %1 个 rank 上</translation>
    </message>
    <message>
        <source>Look at what rank %1 does before it arrives.</source>
        <translation>请查看 rank %1 在到达之前做了什么。</translation>
    </message>
    <message>
        <source>Avoid .item(), .cpu() and copies that wait, or do them once per several steps.</source>
        <translation>避免 .item()、.cpu() 和会等待的拷贝，或每隔几步才做一次。</translation>
    </message>
    <message>
        <source>Pinned memory and non_blocking=True let copies run beside computation.</source>
        <translation>锁页内存和 non_blocking=True 可使拷贝与计算并行。</translation>
    </message>
    <message>
        <source>Fusing them (torch.compile) saves launches and memory traffic.</source>
        <translation>融合它们（torch.compile）可节省启动和内存访问。</translation>
    </message>
    <message>
        <source>A higher power limit or better cooling raises it; compare devices at equal clocks.</source>
        <translation>提高功耗上限或改善散热可以提高频率；比较设备时应使用相同的频率。</translation>
    </message>
    <message>
        <source>Recomputation, sharding or a smaller micro-batch make room.</source>
        <translation>重计算、分片或更小的微批次可以腾出空间。</translation>
    </message>
    <message>
        <source>%1: %2.</source>
        <translation>%1：%2。</translation>
    </message>
    <message>
        <source>Nothing in this trace tells what would help.</source>
        <translation>此轨迹中没有能说明如何改进的信息。</translation>
    </message>
    <message>
        <source>Nothing stands out: computation takes %1 of %2, and nothing else costs %3 or more.</source>
        <translation>没有突出的问题：计算占%2的 %1，其他各项均不到 %3。</translation>
    </message>
    <message>
        <source>waiting cannot be told apart</source>
        <translation>等待无法区分</translation>
    </message>
    <message>
        <source>1 kernel</source>
        <translation>1 个内核</translation>
    </message>
    <message>
        <source>Nothing stands out but the kernels, which run far below the peak: computation takes %1 of %2, and nothing else costs %3 or more.</source>
        <translation>没有突出的问题，只是内核远低于峰值：计算占%2的 %1，其他各项均不到 %3。</translation>
    </message>
    <message>
        <source>steps %1 to %2</source>
        <translation>第 %1 至 %2 步</translation>
    </message>
    <message>
        <source>%1 times what its peers take for the same work</source>
        <translation>同样的工作耗时为同组的 %1 倍</translation>
    </message>
    <message>
        <source>in %1 of %2 steps</source>
        <translation>%2 步中有 %1 步</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>ranks %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>, </source>
        <translation>、</translation>
    </message>
    <message>
        <source>%1 and %2 more</source>
        <translation>%1 等另外 %2 个</translation>
    </message>
    <message>
        <source>the others wait for %1 of %2 (%3)</source>
        <translation>其他 rank 等待了%2的 %1（%3）</translation>
    </message>
    <message>
        <source>computes %1 per step, the other stages %2</source>
        <translation>每步计算 %1，其他级 %2</translation>
    </message>
    <message>
        <source>a transfer takes %1, its siblings take %2</source>
        <translation>一次传输需 %1，同类需 %2</translation>
    </message>
    <message>
        <source>micro-batches differ by %1</source>
        <translation>微批次相差 %1</translation>
    </message>
    <message>
        <source>the busiest rank has %1 times the mean</source>
        <translation>最忙的 rank 是平均值的 %1 倍</translation>
    </message>
    <message>
        <source>%1 per step, the longest %2</source>
        <translation>每步 %1，最长 %2</translation>
    </message>
    <message>
        <source>the longest takes %1, the median %2</source>
        <translation>最长的需 %1，中位数 %2</translation>
    </message>
    <message>
        <source>%1 times as long from step %2 on</source>
        <translation>从第 %2 步起耗时为 %1 倍</translation>
    </message>
    <message>
        <source>%1 more after each step</source>
        <translation>每步之后多 %1</translation>
    </message>
    <message>
        <source>full after %1 more steps</source>
        <translation>再过 %1 步就满</translation>
    </message>
    <message>
        <source>%1 reserved, %2 used at most</source>
        <translation>保留 %1，最多使用 %2</translation>
    </message>
    <message>
        <source>Rank %1 is slower than the others</source>
        <translation>rank %1 比其他 rank 慢</translation>
    </message>
    <message>
        <source>Pipeline stage %1 takes longer than the others</source>
        <translation>流水级 %1 比其他级慢</translation>
    </message>
    <message>
        <source>The link between %1 is slow</source>
        <translation>%1 之间的链路慢</translation>
    </message>
    <message>
        <source>Micro-batches take unequally long</source>
        <translation>微批次耗时不均</translation>
    </message>
    <message>
        <source>Experts have unequally many tokens</source>
        <translation>各专家的 token 数不均</translation>
    </message>
    <message>
        <source>The program of %1 stands still now and then</source>
        <translation>%1 的程序不时停顿</translation>
    </message>
    <message>
        <source>The others wait until rank %1 has its data</source>
        <translation>其他 rank 等待 rank %1 取得数据</translation>
    </message>
    <message>
        <source>The job waits for checkpoints</source>
        <translation>作业等待检查点</translation>
    </message>
    <message>
        <source>The job waits for evaluations</source>
        <translation>作业等待评估</translation>
    </message>
    <message>
        <source>Few steps are much longer than the rest</source>
        <translation>少数步远比其余的长</translation>
    </message>
    <message>
        <source>The same work takes longer as time goes by</source>
        <translation>同样的工作随时间变慢</translation>
    </message>
    <message>
        <source>Memory grows from step to step</source>
        <translation>内存逐步增长</translation>
    </message>
    <message>
        <source>Far more memory is reserved than used</source>
        <translation>保留的内存远多于使用的</translation>
    </message>
    <message>
        <source>replayed without it: %1 less</source>
        <translation>去掉它重放：缩短 %1</translation>
    </message>
    <message>
        <source>up to %1 less</source>
        <translation>最多缩短 %1</translation>
    </message>
    <message>
        <source>The trace has no steps: nothing can be a share of one.</source>
        <translation>轨迹中没有步，无法计算占比。</translation>
    </message>
    <message>
        <source>Communication is in the trace, but not which operations of the ranks belong together.</source>
        <translation>轨迹中有通信，但没有说明各 rank 的哪些操作属于同一次。</translation>
    </message>
    <message>
        <source>No device&apos;s work is in the trace: whether a device waits for the program cannot be told.</source>
        <translation>轨迹中没有设备的工作，无法判断设备是否在等待程序。</translation>
    </message>
    <message>
        <source>No work is done by two ranks: whether one of them is slower cannot be told.</source>
        <translation>没有两个 rank 做同样的工作，无法判断哪个更慢。</translation>
    </message>
    <message>
        <source>No allocations are in the trace: nothing can be said about memory.</source>
        <translation>轨迹中没有内存分配，无法说明内存。</translation>
    </message>
    <message>
        <source>The size of the device&apos;s memory is not known: how near the wall is cannot be told.</source>
        <translation>不知道设备内存的大小，无法判断离内存墙有多近。</translation>
    </message>
    <message>
        <source>Check its clock, temperature and neighbours; a spare machine shows whether it is the machine.</source>
        <translation>检查它的频率、温度和邻居；换一台机器就能看出是不是机器的问题。</translation>
    </message>
    <message>
        <source>Check cable, adapter and route between them.</source>
        <translation>检查它们之间的线缆、网卡和路由。</translation>
    </message>
    <message>
        <source>Pack sequences to equal lengths, or share them out by what they cost.</source>
        <translation>把序列打包成相同长度，或按代价分配。</translation>
    </message>
    <message>
        <source>gc.disable() with a collection every so many steps, and a quiet host, take pauses away.</source>
        <translation>gc.disable() 并每隔若干步回收一次，加上安静的主机，可以消除停顿。</translation>
    </message>
    <message>
        <source>Record clocks and power to see whether the device is throttled.</source>
        <translation>记录频率和功耗，看设备是否被降频。</translation>
    </message>
    <message>
        <source>Evaluate less often, or on devices of its own.</source>
        <translation>减少评估次数，或用单独的设备评估。</translation>
    </message>
    <message>
        <source>Keep losses as numbers (.item() or .detach()), and look at what is alive after a step.</source>
        <translation>把损失保存为数值（.item() 或 .detach()），并查看一步之后还有什么存活。</translation>
    </message>
    <message>
        <source>PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets segments grow instead.</source>
        <translation>PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True 让内存段增长而不是新建。</translation>
    </message>
    <message>
        <source>No work of a device is in this trace: what would help it cannot be told.</source>
        <translation>此轨迹中没有设备的工作：无法说明怎样改进。</translation>
    </message>
    <message>
        <source>Captured graphs, a compiler (torch.compile, XLA) or larger batches give the device more to do per call.</source>
        <translation>捕获的计算图、编译器（torch.compile、XLA）或更大的批次能让每次调用给设备更多工作。</translation>
    </message>
    <message>
        <source>most of it made by %1</source>
        <translation>大部分来自 %1</translation>
    </message>
    <message>
        <source>most was made by %1</source>
        <translation>大部分来自 %1</translation>
    </message>
    <message>
        <source>copies: %1</source>
        <translation>拷贝：%1 次</translation>
    </message>
    <message>
        <source>calls: %1</source>
        <translation>调用：%1 次</translation>
    </message>
    <message>
        <source>kernels: %1</source>
        <translation>内核：%1 个</translation>
    </message>
    <message>
        <source>the longest gap takes %1, in %2</source>
        <translation>最长的空隙为 %1，此时程序在 %2 中</translation>
    </message>
    <message>
        <source>the longest gap takes %1</source>
        <translation>最长的空隙为 %1</translation>
    </message>
    <message>
        <source>No computation is in the step: whether anything hides its communication cannot be told.</source>
        <translation>该步中没有计算：无法判断通信是否被掩盖。</translation>
    </message>
    <message>
        <source>The step&apos;s first work was launched long before the device began it: what the device did until then is not in the trace.</source>
        <translation>该步的第一项工作早已启动，设备却很晚才开始执行：设备在此之前做了什么，轨迹中没有记录。</translation>
    </message>
    <message>
        <source>Look at what the program does while its device waits: launches are too few to take that long.</source>
        <translation>请查看设备等待时程序在做什么：启动次数太少，不会占用这么久。</translation>
    </message>
    <message>
        <source>Look at what the program does in the longest gap.</source>
        <translation>请查看程序在最长的空隙中做什么。</translation>
    </message>
    <message>
        <source>Memory that is freed waits for the device; in the first step it is often the start of a library.</source>
        <translation>释放显存会等待设备；在第一步中，这往往是某个库的初始化。</translation>
    </message>
    <message>
        <source>%1 were free, the largest hole has %2</source>
        <translation>共有 %1 空闲，最大的空洞为 %2</translation>
    </message>
    <message>
        <source>Enough was free, in pieces: PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets segments grow instead.</source>
        <translation>空闲总量足够，但已碎片化：PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True 可让段按需增长。</translation>
    </message>
    <message>
        <source>A smaller micro-batch, recomputation or sharding over more ranks needs less.</source>
        <translation>更小的微批次、重计算或在更多 rank 上分片所需更少。</translation>
    </message>
    <message>
        <source>the busiest expert gets %1 times the mean of the tokens</source>
        <translation>最忙的专家得到平均 token 数的 %1 倍</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>第 %1 层</translation>
    </message>
    <message>
        <source>%1 more after each rise and fall</source>
        <translation>每次升降之后多 %1</translation>
    </message>
    <message>
        <source>at the end %1 of %2 reserved are free, the largest hole has %3</source>
        <translation>结束时保留的 %2 中有 %1 空闲，最大的空洞为 %3</translation>
    </message>
    <message>
        <source>The program starts up: compilation, loading, first calls</source>
        <translation>程序正在启动：编译、加载、首次调用</translation>
    </message>
    <message>
        <source>%1 at %2:%3</source>
        <translation>%1，位于 %2:%3</translation>
    </message>
    <message>
        <source>replayed without it: %1 less (%2 to %3)</source>
        <translation>去掉它重放：缩短 %1（%2 至 %3）</translation>
    </message>
    <message>
        <source>Compute with whole tensors, and read the result once (.item(), .tolist()).</source>
        <translation>请用整个张量计算，只读取一次结果（.item()、.tolist()）。</translation>
    </message>
    <message>
        <source>More loader workers and prefetching fetch the next batch during the step: DataLoader(num_workers=4, prefetch_factor=2, persistent_workers=True).</source>
        <translation>更多的加载进程和预取可在本步期间取得下一批数据：DataLoader(num_workers=4, prefetch_factor=2, persistent_workers=True)。</translation>
    </message>
    <message>
        <source>Look at what the longest step does that the others do not: garbage collection, logging, a new shape that is compiled, or another job of the machine.</source>
        <translation>请查看最长的一步做了哪些其他步没有做的事：垃圾回收、写日志、为新形状编译，或机器上的其他作业。</translation>
    </message>
    <message>
        <source>Asynchronous checkpoints write beside the next steps: torch.distributed.checkpoint.async_save, Megatron-LM&apos;s --async-save.</source>
        <translation>异步检查点可在后续步进行时写出：torch.distributed.checkpoint.async_save，Megatron-LM 的 --async-save。</translation>
    </message>
    <message>
        <source>Give it fewer layers, or the others more: Megatron-LM&apos;s --decoder-first-pipeline-num-layers and --decoder-last-pipeline-num-layers.</source>
        <translation>给它更少的层，或给其他级更多的层：Megatron-LM 的 --decoder-first-pipeline-num-layers 和 --decoder-last-pipeline-num-layers。</translation>
    </message>
    <message>
        <source>A balancing loss or a capacity limit evens experts out: Megatron-LM&apos;s --moe-aux-loss-coeff and --moe-expert-capacity-factor.</source>
        <translation>均衡损失或容量上限可使各专家均匀：Megatron-LM 的 --moe-aux-loss-coeff 和 --moe-expert-capacity-factor。</translation>
    </message>
    <message>
        <source>Batches of unequal work, garbage collections at different moments and shared machines make ranks arrive apart; Megatron-LM&apos;s --manual-gc collects on all ranks at once.</source>
        <translation>工作量不等的批次、不同时刻的垃圾回收和共享的机器会使各 rank 先后到达；Megatron-LM 的 --manual-gc 让所有 rank 同时回收。</translation>
    </message>
    <message>
        <source>Open the files of all ranks together: part of it may be waiting for another rank.</source>
        <translation>请把所有 rank 的文件一起打开：其中一部分可能是在等待另一个 rank。</translation>
    </message>
    <message>
        <source>Let it run beside computation: smaller bucket_cap_mb of DDP, forward_prefetch of FSDP, overlap_comm of DeepSpeed, Megatron-LM&apos;s --overlap-grad-reduce, --overlap-param-gather and --tp-comm-overlap.</source>
        <translation>让通信与计算并行：DDP 用更小的 bucket_cap_mb，FSDP 的 forward_prefetch，DeepSpeed 的 overlap_comm，Megatron-LM 的 --overlap-grad-reduce、--overlap-param-gather 和 --tp-comm-overlap。</translation>
    </message>
    <message>
        <source>More micro-batches or an interleaved schedule make it smaller: Megatron-LM&apos;s --num-layers-per-virtual-pipeline-stage, torch.distributed.pipelining&apos;s ScheduleInterleaved1F1B.</source>
        <translation>更多的微批次或交错调度可减小气泡：Megatron-LM 的 --num-layers-per-virtual-pipeline-stage，torch.distributed.pipelining 的 ScheduleInterleaved1F1B。</translation>
    </message>
    <message>
        <source>Some ranks are not in the trace: who waits for whom in collectives cannot be told.</source>
        <translation>有些 rank 不在轨迹中：集合通信中谁在等谁无法判断。</translation>
    </message>
    <message>
        <source>The device is idle at times, and the program on the processor is not in the trace.</source>
        <translation>设备有时空闲，而处理器上的程序不在轨迹中。</translation>
    </message>
    <message>
        <source>The program waits long for the device, and what the device did then is not in the trace.</source>
        <translation>程序长时间等待设备，而设备当时所做的工作不在轨迹中。</translation>
    </message>
    <message>
        <source>The program reads values of tensors: what that costs on a device, a trace without one does not tell.</source>
        <translation>程序读取张量的值：这在设备上要花多少时间，没有设备的轨迹无法说明。</translation>
    </message>
    <message>
        <source>A memory snapshot has neither steps nor kernels: it tells of memory only.</source>
        <translation>内存快照既没有步也没有内核：它只说明内存。</translation>
    </message>
    <message>
        <source>Call the profiler&apos;s step() after each step, or put a range (NVTX, record_function) round it.</source>
        <translation>请在每步之后调用分析器的 step()，或用范围（NVTX、record_function）把它包起来。</translation>
    </message>
    <message>
        <source>Record all ranks, or open their files together.</source>
        <translation>请记录所有 rank，或把它们的文件一起打开。</translation>
    </message>
    <message>
        <source>Record with `fourwalls-cli record -- COMMAND`, or with a newer PyTorch, which numbers its collectives.</source>
        <translation>请用 `fourwalls-cli record -- COMMAND` 记录，或用会为集合通信编号的较新的 PyTorch。</translation>
    </message>
    <message>
        <source>Record the device&apos;s work, too (ProfilerActivity.CUDA; nsys --trace=cuda).</source>
        <translation>请把设备的工作也记录下来（ProfilerActivity.CUDA；nsys --trace=cuda）。</translation>
    </message>
    <message>
        <source>Record what the processor does, too (ProfilerActivity.CPU; nsys --trace=cuda,nvtx,osrt).</source>
        <translation>请把处理器的活动也记录下来（ProfilerActivity.CPU；nsys --trace=cuda,nvtx,osrt）。</translation>
    </message>
    <message>
        <source>Record from an earlier step on.</source>
        <translation>请从更早的步开始记录。</translation>
    </message>
    <message>
        <source>Record the kernels inside graphs, too (nsys --cuda-graph-trace=node), or a step without graphs.</source>
        <translation>请把图内的内核也记录下来（nsys --cuda-graph-trace=node），或记录不用图的一步。</translation>
    </message>
    <message>
        <source>Record a step on a device (ProfilerActivity.CUDA).</source>
        <translation>请在设备上记录一步（ProfilerActivity.CUDA）。</translation>
    </message>
    <message>
        <source>Record with profile_memory=True (nsys: --cuda-memory-usage=true), or take a memory snapshot (torch.cuda.memory._record_memory_history).</source>
        <translation>请用 profile_memory=True 记录（nsys：--cuda-memory-usage=true），或拍一份内存快照（torch.cuda.memory._record_memory_history）。</translation>
    </message>
    <message>
        <source>Open the run&apos;s profile as well (torch.profiler, nsys).</source>
        <translation>请把这次运行的性能分析文件也打开（torch.profiler、nsys）。</translation>
    </message>
    <message>
        <source>Values of tensors are read within the step</source>
        <translation>步内读取了张量的值</translation>
    </message>
    <message>
        <source>Computation takes %1 of %2. For %3 the device is idle; why, the trace does not tell.</source>
        <translation>计算占%2的 %1。设备有 %3 的时间空闲，原因在轨迹中看不出来。</translation>
    </message>
    <message>
        <source>Record Python&apos;s functions, too (with_stack=True; nsys --python-sampling=true).</source>
        <translation>请把 Python 的函数也记录下来（with_stack=True；nsys --python-sampling=true）。</translation>
    </message>
    <message>
        <source>Later steps do not have it: begin to record after the first ones (torch.profiler&apos;s schedule with warmup=3, nsys profile --delay).</source>
        <translation>之后的步没有这部分：请在最初几步之后再开始记录（torch.profiler 的 schedule，warmup=3；或 nsys profile --delay）。</translation>
    </message>
    <message>
        <source>Some steps are longer, and the ranks used no more of their processors in them: they stood still, or other programs had their cores.</source>
        <translation>有些步更长，但其中各 rank 并没有用更多的处理器时间：它们停住了，或者核心被别的程序占用。</translation>
    </message>
    <message>
        <source>Record on a machine that does nothing else, or with `record --clock device`.</source>
        <translation>请在没有其他负载的机器上记录，或使用 `record --clock device`。</translation>
    </message>
    <message>
        <source>of memory: no gain of time is promised</source>
        <translation>属于内存：不承诺时间上的收益</translation>
    </message>
    <message>
        <source>later steps do not have it: no gain is promised</source>
        <translation>以后的步没有它：不承诺收益</translation>
    </message>
    <message>
        <source>no change of a replay takes it away</source>
        <translation>没有重放的改动能去掉它</translation>
    </message>
    <message>
        <source>The device is idle in long gaps in which nothing of the program is recorded.</source>
        <translation>设备在一些长间隙中空闲，其间没有记录到程序的任何活动。</translation>
    </message>
    <message>
        <source>in %1 operations, too few to tell whether one rank is always late</source>
        <translation>在 %1 次操作中，数量太少，看不出是否总是某个 rank 迟到</translation>
    </message>
    <message>
        <source>%1 times, %2 each until the lost steps were taken again</source>
        <translation>%1 次，每次耗时 %2，直到丢失的步重新完成</translation>
    </message>
    <message>
        <source>The job failed and was started again</source>
        <translation>作业失败后重新启动</translation>
    </message>
    <message>
        <source>Goodput in the tuning view (fourwalls-cli goodput) says how much of it other intervals between checkpoints, quicker restarts and more reliable devices would save.</source>
        <translation>“调优”页的有效率（fourwalls-cli goodput）说明：改变检查点间隔、加快重启和使用更可靠的设备各能节省多少。</translation>
    </message>
</context>
<context>
    <name>FindingsView</name>
    <message>
        <source>Open or record a trace to see what is wrong with it.</source>
        <translation>打开或记录一个轨迹，看看它有什么问题。</translation>
    </message>
    <message>
        <source>The findings of this trace could not be worked out. %1</source>
        <translation>无法得出这个轨迹的发现。%1</translation>
    </message>
    <message numerus="yes">
        <source>%n thing(s) wrong with this run</source>
        <translation>
            <numerusform>这次运行有 %n 个问题</numerusform>
        </translation>
    </message>
    <message>
        <source>Nothing is wrong with this run</source>
        <translation>这次运行没有问题</translation>
    </message>
    <message numerus="yes">
        <source>%n cost(s) of its plan and program</source>
        <translation>
            <numerusform>计划和程序本身有 %n 项开销</numerusform>
        </translation>
    </message>
    <message>
        <source>unchanged, its replay is %1 off</source>
        <translation>不作改变时，重放误差为 %1</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Opens the view that shows it, at that place</source>
        <translation>打开显示它的视图并定位</translation>
    </message>
    <message>
        <source>What this trace cannot tell</source>
        <translation>这个轨迹无法说明的</translation>
    </message>
    <message>
        <source>finding</source>
        <translation>发现</translation>
    </message>
    <message>
        <source>gain</source>
        <translation>收益</translation>
    </message>
    <message>
        <source>evidence</source>
        <translation>证据</translation>
    </message>
    <message>
        <source>List of findings</source>
        <translation>发现列表</translation>
    </message>
</context>
<context>
    <name>FitWords</name>
    <message>
        <source>micro-batch size</source>
        <translation>微批次大小</translation>
    </message>
    <message>
        <source>sequence</source>
        <translation>序列</translation>
    </message>
    <message>
        <source>ZeRO stage</source>
        <translation>ZeRO 阶段</translation>
    </message>
    <message>
        <source>tensor parallel</source>
        <translation>张量并行</translation>
    </message>
    <message>
        <source>pipeline stages</source>
        <translation>流水级数</translation>
    </message>
    <message>
        <source>data parallel</source>
        <translation>数据并行</translation>
    </message>
</context>
<context>
    <name>FlameGraph</name>
    <message>
        <source>Flame graph</source>
        <translation>火焰图</translation>
    </message>
    <message>
        <source>%1 of all · %2 times</source>
        <translation>占全部的 %1 · %2 次</translation>
    </message>
    <message>
        <source>host %1, own %2</source>
        <translation>主机 %1，自身 %2</translation>
    </message>
    <message>
        <source>device %1, launched here %2</source>
        <translation>设备 %1，此处启动 %2</translation>
    </message>
</context>
<context>
    <name>GainLine</name>
    <message>
        <source>What would this gain? %1</source>
        <translation>这能得到什么？%1</translation>
    </message>
    <message>
        <source>It cannot be said: %1</source>
        <translation>无法说明：%1</translation>
    </message>
</context>
<context>
    <name>GainWords</name>
    <message>
        <source>all of this name in half the time</source>
        <translation>所有此名的都用一半时间</translation>
    </message>
    <message>
        <source>links of %1 twice as fast</source>
        <translation>%1 的链路快一倍</translation>
    </message>
    <message>
        <source>rank %1 like the mean</source>
        <translation>rank %1 如平均时</translation>
    </message>
    <message>
        <source>nobody slower than the mean</source>
        <translation>没有比平均慢的</translation>
    </message>
    <message>
        <source>stage %1 like the mean</source>
        <translation>流水级 %1 如平均时</translation>
    </message>
    <message>
        <source>launched as one graph</source>
        <translation>启动合为一张图</translation>
    </message>
    <message>
        <source>passes in the order of %1</source>
        <translation>各遍按 %1 的次序</translation>
    </message>
    <message>
        <source>%1 measured</source>
        <translation>测得 %1</translation>
    </message>
    <message>
        <source>%1 scaled</source>
        <translation>缩放 %1</translation>
    </message>
    <message>
        <source>%1 modelled</source>
        <translation>建模 %1</translation>
    </message>
    <message>
        <source>cannot be said: %1</source>
        <translation>无法说明：%1</translation>
    </message>
    <message>
        <source>the step stays as long, replayed</source>
        <translation>重放：这一步长短不变</translation>
    </message>
    <message>
        <source>step %1 shorter, replayed</source>
        <translation>重放：这一步缩短 %1</translation>
    </message>
    <message>
        <source>step %1 longer, replayed</source>
        <translation>重放：这一步延长 %1</translation>
    </message>
    <message>
        <source>of step %1; unchanged, this replay is %2 off, mean of %3 steps</source>
        <translation>第 %1 步；不作改动时，重放偏差 %2，为 %3 步的平均</translation>
    </message>
    <message>
        <source>unchanged, this replay of step %1 is %2 off</source>
        <translation>不作改动时，第 %1 步的重放偏差 %2</translation>
    </message>
    <message>
        <source>unchanged, this replay is %1 off</source>
        <translation>不作改动时，重放偏差 %1</translation>
    </message>
    <message>
        <source>(which says nothing: it rests on its own delays)</source>
        <translation>（这说明不了什么：它依靠的是自己的延迟）</translation>
    </message>
    <message>
        <source>nothing of this trace was measured; the What-if dock predicts changes</source>
        <translation>此轨迹没有测得的内容；“假设”面板预测改动</translation>
    </message>
    <message>
        <source>the trace stays as long, replayed</source>
        <translation>重放：轨迹长短不变</translation>
    </message>
    <message>
        <source>trace %1 shorter, replayed</source>
        <translation>重放：轨迹缩短 %1</translation>
    </message>
    <message>
        <source>trace %1 longer, replayed</source>
        <translation>重放：轨迹延长 %1</translation>
    </message>
    <message>
        <source>all of its %1, and time of other causes besides</source>
        <translation>它的 %1 全部，另外还有其他原因的时间</translation>
    </message>
</context>
<context>
    <name>GoodputPlot</name>
    <message>
        <source>The job fails more often than it gets anything done.</source>
        <translation>作业失败得太频繁，无法取得进展。</translation>
    </message>
    <message>
        <source>%1 of the time trains; best checkpoint every %2</source>
        <translation>%1 的时间用于训练；最佳检查点间隔 %2</translation>
    </message>
    <message>
        <source>between two checkpoints</source>
        <translation>两次检查点之间</translation>
    </message>
    <message>
        <source>devices</source>
        <translation>设备数</translation>
    </message>
    <message>
        <source>goodput by interval</source>
        <translation>有效率随间隔变化</translation>
    </message>
    <message>
        <source>goodput by number of devices</source>
        <translation>有效率随设备数变化</translation>
    </message>
</context>
<context>
    <name>HangChain</name>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>for %1</source>
        <translation>等待 %1</translation>
    </message>
    <message>
        <source>one or more of %1</source>
        <translation>%1 中的一个或多个</translation>
    </message>
    <message>
        <source>Who waits for whom</source>
        <translation>谁在等待谁</translation>
    </message>
</context>
<context>
    <name>HangMatrixPlot</name>
    <message>
        <source>Who is where</source>
        <translation>谁在哪里</translation>
    </message>
    <message numerus="yes">
        <source>%1 (%n)</source>
        <translation>
            <numerusform>%1（%n）</numerusform>
        </translation>
    </message>
    <message>
        <source>%1: finished everything that its group entered</source>
        <translation>%1：完成了组内进入的所有操作</translation>
    </message>
    <message>
        <source>%1: entered all but the newest %2, finished all but the newest %3</source>
        <translation>%1：除最新 %2 个外都已进入，除最新 %3 个外都已完成</translation>
    </message>
    <message>
        <source>no dump: the process ended, or could not write</source>
        <translation>没有转储：进程已结束，或无法写入</translation>
    </message>
    <message>
        <source>the dump is damaged</source>
        <translation>转储已损坏</translation>
    </message>
    <message>
        <source>newest</source>
        <translation>最新</translation>
    </message>
    <message numerus="yes">
        <source>%n more kind(s) of groups</source>
        <translation>
            <numerusform>另有 %n 类组</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>HangPage</name>
    <message numerus="yes">
        <source>%n rank(s)</source>
        <translation>
            <numerusform>%n 个 rank</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%1: the job hangs because of %n of them</source>
        <translation>
            <numerusform>%1：作业因其中 %n 个而挂起</numerusform>
        </translation>
    </message>
    <message>
        <source>%1: the job hangs, and the dumps leave a choice of who is why</source>
        <translation>%1：作业已挂起，转储不能确定是哪一个造成的</translation>
    </message>
    <message>
        <source>%1: no operation waits for one of them</source>
        <translation>%1：没有操作在等待其中任何一个</translation>
    </message>
    <message>
        <source>These dumps could not be read</source>
        <translation>无法读取这些转储</translation>
    </message>
    <message>
        <source>Reading %1…</source>
        <translation>正在读取 %1…</translation>
    </message>
    <message>
        <source>Which rank hung the job</source>
        <translation>哪个 rank 使作业挂起</translation>
    </message>
    <message>
        <source>Drop the folder with the dumps of PyTorch&apos;s flight recorder here: one file for each rank, pickle or JSON, and stacks of py-spy or faulthandler beside them (stack_3.txt). Nothing in them is executed.

PyTorch writes dumps when a collective runs into its timeout, if the job was started with TORCH_NCCL_DUMP_ON_TIMEOUT=1, TORCH_FR_BUFFER_SIZE=2000 and TORCH_FR_DUMP_TEMP_FILE=dumps/_dump_</source>
        <translation>把 PyTorch flight recorder 的转储文件夹拖到这里：每个 rank 一个文件，pickle 或 JSON，旁边可放 py-spy 或 faulthandler 的调用栈（stack_3.txt）。其中的任何内容都不会被执行。

启动作业时设置 TORCH_NCCL_DUMP_ON_TIMEOUT=1、TORCH_FR_BUFFER_SIZE=2000 和 TORCH_FR_DUMP_TEMP_FILE=dumps/_dump_，集合操作超时时 PyTorch 就会写出转储</translation>
    </message>
    <message>
        <source>finished</source>
        <translation>已完成</translation>
    </message>
    <message>
        <source>entered, not finished</source>
        <translation>已进入，未完成</translation>
    </message>
    <message>
        <source>not entered</source>
        <translation>未进入</translation>
    </message>
    <message numerus="yes">
        <source>And %n more, below.</source>
        <translation>
            <numerusform>另有 %n 个，见下方。</numerusform>
        </translation>
    </message>
    <message>
        <source>Damaged dumps: %1.</source>
        <translation>损坏的转储：%1。</translation>
    </message>
    <message numerus="yes">
        <source>The dumps do not agree on who is in %n group(s): are they of one job?</source>
        <translation>
            <numerusform>这些转储对 %n 个组的成员说法不一：它们属于同一个作业吗？</numerusform>
        </translation>
    </message>
    <message>
        <source>no group has an open operation</source>
        <translation>没有组有未完成的操作</translation>
    </message>
    <message>
        <source>rows: ranks · columns: the last operations of each kind of group, newest right</source>
        <translation>行：rank · 列：每类组最近的操作，最新的在右</translation>
    </message>
    <message>
        <source>Stack</source>
        <translation>调用栈</translation>
    </message>
    <message>
        <source>No stacks lie beside the dumps.</source>
        <translation>转储旁没有调用栈。</translation>
    </message>
    <message>
        <source>Choose a rank above.</source>
        <translation>请在上方选择一个 rank。</translation>
    </message>
    <message>
        <source>Stack of rank %1</source>
        <translation>rank %1 的调用栈</translation>
    </message>
    <message>
        <source>No stack of this rank lies beside the dumps. py-spy dump --pid PID &gt; stack_%1.txt makes one while the job hangs.</source>
        <translation>转储旁没有该 rank 的调用栈。作业挂起时可用 py-spy dump --pid PID &gt; stack_%1.txt 生成。</translation>
    </message>
    <message>
        <source>Open a folder of dumps…</source>
        <translation>打开转储文件夹…</translation>
    </message>
    <message>
        <source>Open dumps…</source>
        <translation>打开转储…</translation>
    </message>
    <message>
        <source>Copy as text</source>
        <translation>复制为文本</translation>
    </message>
    <message>
        <source>Fold equal ranks</source>
        <translation>折叠相同的 rank</translation>
    </message>
    <message>
        <source>Ranks that came equally far in every group are one row.</source>
        <translation>在每个组中进度相同的 rank 合为一行。</translation>
    </message>
    <message>
        <source>Who is where</source>
        <translation>谁在哪里</translation>
    </message>
    <message>
        <source>Who waits for whom</source>
        <translation>谁等待谁</translation>
    </message>
    <message>
        <source>More of NCCL RAS, copied as text: %1.</source>
        <translation>NCCL RAS 另有 %1 条，见“复制为文本”。</translation>
    </message>
</context>
<context>
    <name>HangWords</name>
    <message>
        <source>an operation</source>
        <translation>一个操作</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>ranks %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>tensor</source>
        <translation>张量</translation>
    </message>
    <message>
        <source>pipeline</source>
        <translation>流水线</translation>
    </message>
    <message>
        <source>data</source>
        <translation>数据</translation>
    </message>
    <message>
        <source>context</source>
        <translation>上下文</translation>
    </message>
    <message>
        <source>expert</source>
        <translation>专家</translation>
    </message>
    <message>
        <source>all ranks</source>
        <translation>所有 rank</translation>
    </message>
    <message>
        <source>%1 of all ranks</source>
        <translation>所有 rank 的 %1</translation>
    </message>
    <message>
        <source>%1 of group %2</source>
        <translation>组 %2 的 %1</translation>
    </message>
    <message>
        <source>%1 of the %2 group %3</source>
        <translation>%2组 %3 的 %1</translation>
    </message>
    <message>
        <source>The device of rank %1 stopped: peers finished %2, which it entered and never finished.</source>
        <translation>rank %1 的设备停止了：同伴完成了%2，它进入了却没有完成。</translation>
    </message>
    <message>
        <source>Rank %1 entered %2 and never finished it, though peers did: its device stopped, or stands there.</source>
        <translation>rank %1 进入了%2却没有完成，而同伴完成了：它的设备停止了，或停在那里。</translation>
    </message>
    <message>
        <source>Rank %1 wrote no dump: its process was gone.</source>
        <translation>rank %1 没有写转储：它的进程已不在。</translation>
    </message>
    <message>
        <source>Rank %1 entered another operation than its peers as %2.</source>
        <translation>rank %1 作为%2进入了与同伴不同的操作。</translation>
    </message>
    <message>
        <source>The program of rank %1 stands: it never entered %2.</source>
        <translation>rank %1 的程序停住了：它没有进入%2。</translation>
    </message>
    <message>
        <source>Rank %1 went on without %2.</source>
        <translation>rank %1 跳过了%2继续运行。</translation>
    </message>
    <message>
        <source>Rank %1 entered %2, without which its peers went on.</source>
        <translation>rank %1 进入了%2，而同伴没有经过它就继续了。</translation>
    </message>
    <message>
        <source>The program of rank %1 stands at %2, where its peers went on.</source>
        <translation>rank %1 的程序停在%2，而同伴已继续。</translation>
    </message>
    <message>
        <source>The device of rank %1 did not begin %2, which its peers began.</source>
        <translation>rank %1 的设备没有开始%2，而同伴已开始。</translation>
    </message>
    <message>
        <source>The others wait for rank %1 in %2, and it waits for nobody.</source>
        <translation>其他 rank 在%2中等待 rank %1，而它不等待任何人。</translation>
    </message>
    <message>
        <source>One or more of %1, at %2: the dumps do not tell which.</source>
        <translation>%1 中的一个或多个，位于%2：转储不能确定是哪一个。</translation>
    </message>
    <message numerus="yes">
        <source>%1 wait(s) for %2 in %3 (%4)</source>
        <translation>
            <numerusform>%1 在 %3（%4）中等待 %2</numerusform>
        </translation>
    </message>
    <message>
        <source>certain</source>
        <translation>确定</translation>
    </message>
    <message>
        <source>nothing else explains it</source>
        <translation>没有别的解释</translation>
    </message>
    <message>
        <source>likely</source>
        <translation>可能</translation>
    </message>
    <message>
        <source>Look into the kernel log of that host for Xid messages, and restart without the device.</source>
        <translation>在该主机的内核日志中查找 Xid 消息，并在不使用该设备的情况下重启。</translation>
    </message>
    <message>
        <source>Look into the log of that rank: it ended by itself, or was killed (out of memory?).</source>
        <translation>查看该 rank 的日志：它自行结束了，或被终止（内存不足？）。</translation>
    </message>
    <message>
        <source>Look for a condition in the program that is not the same on all ranks.</source>
        <translation>在程序中查找并非在所有 rank 上都相同的条件。</translation>
    </message>
    <message>
        <source>Where its program stands tells a stack: py-spy dump --pid PID &gt; stack_RANK.txt beside the dumps.</source>
        <translation>程序停在哪里由调用栈说明：在转储旁运行 py-spy dump --pid PID &gt; stack_RANK.txt。</translation>
    </message>
    <message>
        <source>With TORCH_NCCL_ENABLE_TIMING=1 a dump also says which device began an operation.</source>
        <translation>设置 TORCH_NCCL_ENABLE_TIMING=1 后，转储还会说明哪个设备开始了操作。</translation>
    </message>
    <message>
        <source>NCCL RAS: %1</source>
        <translation>NCCL RAS：%1</translation>
    </message>
</context>
<context>
    <name>HeaderBar</name>
    <message>
        <source>one device</source>
        <translation>单设备</translation>
    </message>
    <message>
        <source>mixed devices</source>
        <translation>混合设备</translation>
    </message>
    <message>
        <source>Main menu</source>
        <translation>主菜单</translation>
    </message>
    <message>
        <source>Main menu (F10)</source>
        <translation>主菜单 (F10)</translation>
    </message>
    <message>
        <source>compute: %1, communication: %2</source>
        <translation>计算：%1，通信：%2</translation>
    </message>
    <message>
        <source>The devices of this run</source>
        <translation>本次运行的设备</translation>
    </message>
    <message>
        <source>The parallel plan of this run</source>
        <translation>本次运行的并行方案</translation>
    </message>
    <message>
        <source>What if</source>
        <translation>假设</translation>
    </message>
    <message>
        <source>Sliders that predict this run under another plan</source>
        <translation>用滑块预测此运行在其他计划下的表现</translation>
    </message>
    <message>
        <source>Find anything</source>
        <translation>查找任何内容</translation>
    </message>
</context>
<context>
    <name>HelpCard</name>
    <message>
        <source>This is a memory snapshot: the memory view shows every buffer with the code that asked for it.</source>
        <translation>这是内存快照：内存视图列出每个缓冲区以及申请它的代码。</translation>
    </message>
    <message>
        <source>Reading the step…</source>
        <translation>正在读取此步…</translation>
    </message>
    <message>
        <source>The step could not be read. %1</source>
        <translation>无法读取此步。%1</translation>
    </message>
    <message>
        <source>Nothing in this trace tells what would help.</source>
        <translation>轨迹中没有信息说明怎样改进。</translation>
    </message>
    <message>
        <source>%1 of %2 findings</source>
        <translation>%2 条中的 %1 条</translation>
    </message>
    <message>
        <source>from the trace itself</source>
        <translation>来自轨迹本身</translation>
    </message>
    <message>
        <source>What stands out</source>
        <translation>值得注意的地方</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>查看</translation>
    </message>
    <message>
        <source>Opens the view that shows it, at that place</source>
        <translation>打开显示它的视图并定位到该处</translation>
    </message>
    <message>
        <source>Nothing about this plan can be changed on its number of devices.</source>
        <translation>在此设备数下，该计划没有可改之处。</translation>
    </message>
    <message>
        <source>%1 changes were predicted: none that fits would make the step shorter by 1 % or more.</source>
        <translation>预测了 %1 种改动：没有放得下且能将一步缩短 1 % 以上的。</translation>
    </message>
    <message>
        <source>%1 changes of one decision were predicted: no other makes the step shorter by 1 % or more.</source>
        <translation>预测了 %1 个单项改变：没有其他改变能让一步缩短 1 % 以上。</translation>
    </message>
    <message>
        <source>%1 changes of one decision were predicted: these help most.</source>
        <translation>预测了 %1 个单项改变：这些最有帮助。</translation>
    </message>
    <message>
        <source>%1 quicker changes were left out: they do not fit into memory.</source>
        <translation>略去 %1 种更快的改动：内存放不下。</translation>
    </message>
    <message>
        <source>Several decisions together: the tuning wall&apos;s search has seen %1 plans so far; the tuning view searches all.</source>
        <translation>同时改变多项：调优墙的搜索目前看了 %1 个计划；调优视图可搜索全部。</translation>
    </message>
    <message>
        <source>Several decisions together: the tuning wall&apos;s search has %1 plans.</source>
        <translation>同时改变多项：调优墙的搜索有 %1 个计划。</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <translation>%1（%2）</translation>
    </message>
    <message>
        <source>memory %1</source>
        <translation>内存 %1</translation>
    </message>
    <message>
        <source>predicted against %1</source>
        <translation>对照 %1 的预测</translation>
    </message>
    <message>
        <source>Predicting other plans…</source>
        <translation>正在预测其他计划…</translation>
    </message>
    <message>
        <source>Other plans could not be predicted. %1</source>
        <translation>无法预测其他计划。%1</translation>
    </message>
    <message>
        <source>Fill in what is missing among the sliders.</source>
        <translation>请在滑块中补全缺少的内容。</translation>
    </message>
    <message>
        <source>What would help most</source>
        <translation>什么最有帮助</translation>
    </message>
    <message>
        <source>Try it</source>
        <translation>试一试</translation>
    </message>
    <message>
        <source>Loads this plan into the sliders and shows its prediction over the trace</source>
        <translation>将此计划载入滑块，并在轨迹上显示其预测</translation>
    </message>
</context>
<context>
    <name>HelpDialog</name>
    <message>
        <source>Manual</source>
        <translation>手册</translation>
    </message>
    <message>
        <source>Contents</source>
        <translation>目录</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>返回</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>HopPlot</name>
    <message>
        <source>This operation is not made of hops:
a message between two, or more members than can be drawn.</source>
        <translation>此操作不由多跳组成：
是两者之间的一条消息，或成员过多无法绘制。</translation>
    </message>
    <message>
        <source>Choose an operation to see its hops.</source>
        <translation>选择一个操作查看其各跳。</translation>
    </message>
    <message>
        <source>all</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>done after %1 rounds</source>
        <translation>%1 轮后完成</translation>
    </message>
    <message>
        <source>round %1 of %2</source>
        <translation>第 %1 / %2 轮</translation>
    </message>
    <message>
        <source>%1 each, %2</source>
        <translation>每个 %1，%2</translation>
    </message>
    <message>
        <source>added to the receiver&apos;s</source>
        <translation>累加到接收方</translation>
    </message>
    <message>
        <source>replaces the receiver&apos;s</source>
        <translation>替换接收方的</translation>
    </message>
    <message>
        <source>recorded %1 to %2</source>
        <translation>录制 %1 至 %2</translation>
    </message>
    <message>
        <source>recorded %1</source>
        <translation>录制 %1</translation>
    </message>
    <message>
        <source>modelled schedule</source>
        <translation>建模的时序</translation>
    </message>
</context>
<context>
    <name>HopsPage</name>
    <message>
        <source>Operations</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>Hops</source>
        <translation>逐跳</translation>
    </message>
    <message>
        <source>The round before</source>
        <translation>上一轮</translation>
    </message>
    <message>
        <source>Play or pause</source>
        <translation>播放或暂停</translation>
    </message>
    <message>
        <source>The next round</source>
        <translation>下一轮</translation>
    </message>
    <message>
        <source>Round</source>
        <translation>轮次</translation>
    </message>
    <message>
        <source>Timeline →</source>
        <translation>时间线 →</translation>
    </message>
    <message>
        <source>Show this operation on the timeline</source>
        <translation>在时间线中显示此操作</translation>
    </message>
    <message>
        <source>Operations of the step</source>
        <translation>该步的操作</translation>
    </message>
    <message>
        <source>Messages of the operation, round by round</source>
        <translation>该操作的消息，逐轮显示</translation>
    </message>
    <message>
        <source>begins</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>After the step&apos;s begin</source>
        <translation>相对该步开始</translation>
    </message>
    <message>
        <source>operation</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>ranks</source>
        <translation>rank 数</translation>
    </message>
    <message>
        <source>payload</source>
        <translation>载荷</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>传输</translation>
    </message>
    <message>
        <source>skew</source>
        <translation>偏差</translation>
    </message>
    <message>
        <source>Last arrival minus first arrival</source>
        <translation>最后到达减去最先到达</translation>
    </message>
    <message>
        <source>%1 %2 → %3</source>
        <translation>%1 %2 → %3</translation>
    </message>
    <message>
        <source>first %1 of %2 in %3</source>
        <translation>%3中 %2 个的前 %1 个</translation>
    </message>
    <message>
        <source>%1 in %2</source>
        <translation>%2中有 %1 个</translation>
    </message>
    <message>
        <source>ring</source>
        <translation>环形</translation>
    </message>
    <message>
        <source>tree</source>
        <translation>树形</translation>
    </message>
    <message>
        <source>direct exchange</source>
        <translation>直接交换</translation>
    </message>
    <message>
        <source>hierarchical</source>
        <translation>分层</translation>
    </message>
    <message>
        <source>%1: each rank sends 2(n−1) = %2 messages of 1/%3 of %4</source>
        <translation>%1：每个 rank 发送 2(n−1) = %2 条消息，每条为 %4 的 1/%3</translation>
    </message>
    <message>
        <source>%1: each rank sends n−1 = %2 messages of 1/%3 of %4</source>
        <translation>%1：每个 rank 发送 n−1 = %2 条消息，每条为 %4 的 1/%3</translation>
    </message>
    <message>
        <source>%1 of %2: %3 rounds, messages per rank: up to %4</source>
        <translation>%1，%2：%3 轮，每 rank 最多 %4 条消息</translation>
    </message>
    <message>
        <source> · recorded</source>
        <translation> · 录制</translation>
    </message>
    <message>
        <source> · modelled: its hops were not recorded</source>
        <translation> · 建模：未录制其各跳</translation>
    </message>
    <message>
        <source> · modelled: the trace does not name the algorithm</source>
        <translation> · 建模：轨迹未注明算法</translation>
    </message>
</context>
<context>
    <name>JobDialog</name>
    <message>
        <source>Starting…</source>
        <translation>正在启动…</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>%1 %</source>
        <translation>%1 %</translation>
    </message>
</context>
<context>
    <name>JobTimeBars</name>
    <message>
        <source>this job: %1 of %2 trained, failures: %3</source>
        <translation>此作业：%2 中的 %1 在训练，故障 %3 次</translation>
    </message>
    <message>
        <source>steps that stay</source>
        <translation>保留下来的步</translation>
    </message>
    <message>
        <source>slow steps</source>
        <translation>慢步</translation>
    </message>
    <message>
        <source>checkpoints</source>
        <translation>检查点</translation>
    </message>
    <message>
        <source>lost work</source>
        <translation>丢失的工作</translation>
    </message>
    <message>
        <source>detection</source>
        <translation>发现故障</translation>
    </message>
    <message>
        <source>restart</source>
        <translation>重启</translation>
    </message>
    <message>
        <source>loading</source>
        <translation>加载</translation>
    </message>
    <message>
        <source>other</source>
        <translation>其他</translation>
    </message>
    <message>
        <source>detection, restart and loading</source>
        <translation>发现故障、重启与加载</translation>
    </message>
    <message>
        <source>recorded</source>
        <translation>录制</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>nothing failed: no failure rate to predict from</source>
        <translation>没有故障：没有可据以预测的故障率</translation>
    </message>
    <message>
        <source>; predicted %1, and %2 to %3 as chance has it</source>
        <translation>；预测 %1，随机范围为 %2 至 %3</translation>
    </message>
    <message>
        <source>evaluation</source>
        <translation>评估</translation>
    </message>
    <message>
        <source>between steps</source>
        <translation>步之间</translation>
    </message>
</context>
<context>
    <name>KnobRow</name>
    <message>
        <source>Keep: %1</source>
        <translation>保持：%1</translation>
    </message>
    <message>
        <source>Keep this while other sliders move</source>
        <translation>移动其他滑块时保持此值</translation>
    </message>
    <message>
        <source>%1: type a value</source>
        <translation>%1：输入数值</translation>
    </message>
    <message>
        <source>Click, or type a number over the slider; the nearest value that fits is taken</source>
        <translation>单击，或在滑块上直接输入数字；取最接近的可行值</translation>
    </message>
</context>
<context>
    <name>LaunchesPage</name>
    <message>
        <source>under %1</source>
        <translation>小于 %1</translation>
    </message>
    <message>
        <source>%1 and more</source>
        <translation>%1 及以上</translation>
    </message>
    <message>
        <source>Small operators</source>
        <translation>小算子</translation>
    </message>
    <message>
        <source>Fusion candidates</source>
        <translation>融合候选</translation>
    </message>
    <message>
        <source>Operators by length</source>
        <translation>按时长的算子</translation>
    </message>
    <message>
        <source>Gaps between operators</source>
        <translation>算子间空隙</translation>
    </message>
    <message>
        <source>Sequences that could be one kernel</source>
        <translation>可合并为一个内核的序列</translation>
    </message>
    <message>
        <source>%1 operators</source>
        <translation>%1 个算子</translation>
    </message>
    <message>
        <source>operators</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>empty between them</source>
        <translation>其间空闲</translation>
    </message>
    <message>
        <source>%1, %2 of the step</source>
        <translation>%1，占该步 %2</translation>
    </message>
    <message>
        <source>Time between the first and the last operator in which the device neither computed, nor communicated, copied or loaded</source>
        <translation>首末算子之间设备既未计算、也未通信、拷贝或加载的时间</translation>
    </message>
    <message>
        <source>in gaps</source>
        <translation>空隙中</translation>
    </message>
    <message>
        <source>median gap on a stream</source>
        <translation>流上空隙中位数</translation>
    </message>
    <message>
        <source>Between one operator&apos;s end and the next one&apos;s begin, back to back ones counted</source>
        <translation>一个算子结束到下一个开始之间，紧邻的也计入</translation>
    </message>
    <message>
        <source>longest gap</source>
        <translation>最长空隙</translation>
    </message>
    <message>
        <source>Double click to see it on the timeline</source>
        <translation>双击在时间线中查看</translation>
    </message>
    <message>
        <source>one launch is taken as</source>
        <translation>一次启动按此计</translation>
    </message>
    <message>
        <source>The median gap of this stream</source>
        <translation>此流的空隙中位数</translation>
    </message>
    <message>
        <source>%1 of %2 operators take under %3; gaps are %4 of the step</source>
        <translation>%2 个算子中 %1 个短于 %3；空隙占该步 %4</translation>
    </message>
    <message>
        <source> · operators under %1 were taken together</source>
        <translation> · 短于 %1 的算子合并统计</translation>
    </message>
    <message>
        <source>length</source>
        <translation>时长</translation>
    </message>
    <message>
        <source>of the operators</source>
        <translation>占算子数</translation>
    </message>
    <message>
        <source>of their time</source>
        <translation>占其时间</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>Saved per occurrence: (k − 1) launches of %1, and the intermediates that need not be written and read, Σ min(bytes of one, bytes of the next) / memory bandwidth; at most all but the longest operator&apos;s time</source>
        <translation>每次节省：(k − 1) 次启动（每次 %1），以及无需写出再读入的中间结果 Σ min(前一个的字节, 后一个的字节) / 内存带宽；最多为除最长算子外的全部时间</translation>
    </message>
    <message>
        <source>sequence</source>
        <translation>序列</translation>
    </message>
    <message>
        <source>Memory-bound operators that follow one another on a stream</source>
        <translation>同一流上相继的内存受限算子</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>times</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>Occurrences in the step</source>
        <translation>该步中出现的次数</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Of the operators, all occurrences</source>
        <translation>这些算子所有出现的合计</translation>
    </message>
    <message>
        <source>bytes saved</source>
        <translation>节省字节</translation>
    </message>
    <message>
        <source>saved</source>
        <translation>节省</translation>
    </message>
    <message>
        <source>of the step</source>
        <translation>占该步</translation>
    </message>
    <message>
        <source>launches %1, memory %2
%3</source>
        <translation>启动 %1，内存 %2
%3</translation>
    </message>
    <message>
        <source>fusing all of them would save about %1, %2 of the step (estimate)</source>
        <translation>全部融合约可节省 %1，占该步 %2（估计）</translation>
    </message>
    <message>
        <source>no sequence of short, memory-bound operators</source>
        <translation>没有短小的内存受限算子序列</translation>
    </message>
    <message>
        <source> · memory bandwidth unknown: only launches are counted</source>
        <translation> · 内存带宽未知：只计启动</translation>
    </message>
    <message>
        <source>What a call that launches a kernel takes on the host, on average</source>
        <translation>主机上一次启动内核的调用平均耗时</translation>
    </message>
    <message>
        <source>A typical value: the trace&apos;s gaps are shorter than any launch</source>
        <translation>典型值：轨迹中的间隙比任何一次启动都短</translation>
    </message>
</context>
<context>
    <name>LossPlot</name>
    <message>
        <source>Loss per step</source>
        <translation>每步的损失</translation>
    </message>
    <message>
        <source>step %1: loss %2</source>
        <translation>第 %1 步：损失 %2</translation>
    </message>
    <message>
        <source>The loss appears here after the first step.</source>
        <translation>第一步之后，损失显示在这里。</translation>
    </message>
    <message>
        <source>step 0</source>
        <translation>第 0 步</translation>
    </message>
    <message>
        <source>loss %1</source>
        <translation>损失 %1</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>Opening %1…</source>
        <translation>正在打开 %1…</translation>
    </message>
    <message>
        <source>Open a trace first</source>
        <translation>请先打开一个轨迹文件</translation>
    </message>
    <message>
        <source>About Fourwalls</source>
        <translation>关于 Fourwalls</translation>
    </message>
    <message>
        <source>Explorer and profiler for large-model training.</source>
        <translation>大模型训练的浏览与性能分析工具。</translation>
    </message>
    <message>
        <source>This application is free software under the GNU General Public License, version 3 or later; the command-line program and its libraries are under the Apache License 2.0. There is no warranty.</source>
        <translation>本应用程序是自由软件，遵循 GNU 通用公共许可证第 3 版或更高版本；命令行程序及其库遵循 Apache 许可证 2.0。不提供任何担保。</translation>
    </message>
    <message>
        <source>Built with Qt %1 (LGPL 3), QCustomPlot (GPL 3), SQLite (public domain), oneDNN (Apache 2.0), nlohmann-json (MIT), CLI11 (BSD 3-clause) and fmt (MIT).</source>
        <translation>构建所用：Qt %1 (LGPL 3)、QCustomPlot (GPL 3)、SQLite（公有领域）、oneDNN (Apache 2.0)、nlohmann-json (MIT)、CLI11（BSD 3 条款）和 fmt (MIT)。</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Open another trace…</source>
        <translation>打开另一个轨迹…</translation>
    </message>
    <message>
        <source>Compare with</source>
        <translation>比较对象</translation>
    </message>
    <message>
        <source>Fourwalls traces (*.fourwalls);;All files (*)</source>
        <translation>Fourwalls 轨迹 (*.fourwalls);;所有文件 (*)</translation>
    </message>
    <message>
        <source>The demo cannot be played: %1</source>
        <translation>无法播放演示：%1</translation>
    </message>
    <message>
        <source>Preparing the demo…</source>
        <translation>正在准备演示…</translation>
    </message>
    <message>
        <source>Open a demo</source>
        <translation>打开演示</translation>
    </message>
    <message>
        <source>Demos (*.json);;All files (*)</source>
        <translation>演示 (*.json);;所有文件 (*)</translation>
    </message>
    <message>
        <source>Add a bookmark</source>
        <translation>添加书签</translation>
    </message>
    <message>
        <source>What is to be seen here?</source>
        <translation>这里能看到什么？</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>selection of %1</source>
        <translation>%1 的选区</translation>
    </message>
    <message>
        <source>Open the dumps of a hung job</source>
        <translation>打开挂起作业的转储</translation>
    </message>
    <message>
        <source>Open a folder of runs</source>
        <translation>打开训练运行的文件夹</translation>
    </message>
    <message>
        <source>Mark %1 is here: %2 (%3 comes back)</source>
        <translation>标记 %1 设在此处：%2（%3 返回）</translation>
    </message>
    <message>
        <source>This trace has no mark %1 (%2 sets it)</source>
        <translation>此轨迹没有标记 %1（%2 设置）</translation>
    </message>
</context>
<context>
    <name>MatrixPlot</name>
    <message>
        <source>nothing</source>
        <translation>无</translation>
    </message>
    <message>
        <source>rank %1 → rank %2: %3</source>
        <translation>rank %1 → rank %2：%3</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>operation %1</source>
        <translation>操作 %1</translation>
    </message>
</context>
<context>
    <name>MemoryAdvice</name>
    <message>
        <source>The memory snapshot is empty: nothing was allocated on a GPU when it was written.
Call the first line before training and the second behind it:

%1</source>
        <translation>内存快照为空：写入时 GPU 上没有任何分配。
请在训练前调用第一行，在训练后调用第二行：

%1</translation>
    </message>
    <message>
        <source>This trace has no allocations, so there is no memory curve.</source>
        <translation>该轨迹没有分配记录，因此没有内存曲线。</translation>
    </message>
    <message>
        <source>For every buffer and its stack, write a snapshot and open it together with the profile:

%1</source>
        <translation>要看每个缓冲区及其调用栈，请写出快照并与性能记录一起打开：

%1</translation>
    </message>
</context>
<context>
    <name>MemoryAlivePanel</name>
    <message>
        <source>category</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>operator</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>buffer</source>
        <translation>缓冲区</translation>
    </message>
    <message>
        <source>Back to the peak</source>
        <translation>回到峰值</translation>
    </message>
    <message>
        <source>Timeline →</source>
        <translation>时间线 →</translation>
    </message>
    <message>
        <source>Show this instant on the timeline</source>
        <translation>在时间线上显示此时刻</translation>
    </message>
    <message>
        <source>What is alive at the instant</source>
        <translation>此时刻存活的内容</translation>
    </message>
    <message>
        <source>%1 in %2 buffers</source>
        <translation>%1，共 %2 个缓冲区</translation>
    </message>
</context>
<context>
    <name>MemoryAllocationModel</name>
    <message>
        <source>never freed</source>
        <translation>从未释放</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <source>category</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>operator</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>micro-batch</source>
        <translation>微批次</translation>
    </message>
    <message>
        <source>made at</source>
        <translation>分配于</translation>
    </message>
    <message>
        <source>lives for</source>
        <translation>存活时长</translation>
    </message>
    <message>
        <source>address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>no time</source>
        <translation>无时长</translation>
    </message>
</context>
<context>
    <name>MemoryAreaPlot</name>
    <message>
        <source>Memory over time</source>
        <translation>内存随时间变化</translation>
    </message>
    <message>
        <source>Stacked area of live memory by category under the device&apos;s capacity</source>
        <translation>按类别堆叠的存活内存面积图，上方为设备容量</translation>
    </message>
    <message>
        <source>static %1</source>
        <translation>静态 %1</translation>
    </message>
    <message>
        <source>%1 capacity</source>
        <translation>容量 %1</translation>
    </message>
    <message>
        <source>%1 · %2 times the peak, not to scale</source>
        <translation>%1 · 峰值的 %2 倍，未按比例</translation>
    </message>
    <message>
        <source>peak %1</source>
        <translation>峰值 %1</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>newest output: %1</source>
        <translation>最新的输出：%1</translation>
    </message>
    <message>
        <source>made last: %1</source>
        <translation>最后分配：%1</translation>
    </message>
    <message>
        <source>%1: capacity of %2</source>
        <translation>%1：%2 的容量</translation>
    </message>
    <message>
        <source>predicted %1, above this scale</source>
        <translation>预测 %1，超出此刻度</translation>
    </message>
    <message>
        <source>reserved %1</source>
        <translation>已保留 %1</translation>
    </message>
    <message>
        <source>reserved %1, above this scale</source>
        <translation>已保留 %1，超出此刻度</translation>
    </message>
</context>
<context>
    <name>MemoryBlockPlot</name>
    <message>
        <source>Buffers over time</source>
        <translation>缓冲区随时间变化</translation>
    </message>
    <message>
        <source>Each buffer as a block: its life across, its bytes high</source>
        <translation>每个缓冲区画为一块：宽为存活时间，高为字节数</translation>
    </message>
    <message>
        <source>at recorded addresses; unused address space is left out</source>
        <translation>按记录的地址排列；省略未使用的地址空间</translation>
    </message>
    <message>
        <source>and %1 smaller buffers, %2, not drawn: zoom in</source>
        <translation>另有 %1 个较小的缓冲区（%2）未画出：请放大</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>micro-batch</source>
        <translation>微批次</translation>
    </message>
    <message>
        <source>made at</source>
        <translation>分配于</translation>
    </message>
    <message>
        <source>lives for</source>
        <translation>存活时长</translation>
    </message>
    <message>
        <source>never freed</source>
        <translation>从未释放</translation>
    </message>
    <message>
        <source>address</source>
        <translation>地址</translation>
    </message>
</context>
<context>
    <name>MemoryBufferPanel</name>
    <message>
        <source>Buffers</source>
        <translation>缓冲区</translation>
    </message>
    <message>
        <source>Filter: operator, category, layer</source>
        <translation>筛选：算子、类别、层</translation>
    </message>
    <message>
        <source>Filter the buffers</source>
        <translation>筛选缓冲区</translation>
    </message>
    <message>
        <source>Buffers of the shown range</source>
        <translation>所示范围内的缓冲区</translation>
    </message>
    <message>
        <source>%1 buffers</source>
        <translation>%1 个缓冲区</translation>
    </message>
    <message>
        <source>%1 largest, %2 smaller ones not listed</source>
        <translation>最大的 %1 个，另有 %2 个较小的未列出</translation>
    </message>
    <message>
        <source>%1 buffers that lived %2 or longer, about %3 shorter ones when zoomed in</source>
        <translation>%1 个存活不短于 %2 的缓冲区；放大后可见约 %3 个更短的</translation>
    </message>
    <message>
        <source>%1 largest that lived %2 or longer, %3 smaller ones not listed, about %4 shorter ones when zoomed in</source>
        <translation>存活 %2 或更久的缓冲区中最大的 %1 个，另有 %3 个较小的未列出；约 %4 个更短的在放大后可见</translation>
    </message>
</context>
<context>
    <name>MemoryCards</name>
    <message>
        <source>The trace does not say what ran; open the What-if sliders and choose it.</source>
        <translation>轨迹未说明运行了什么；请打开“假设”滑块选择。</translation>
    </message>
    <message>
        <source>What fits</source>
        <translation>放得下什么</translation>
    </message>
    <message>
        <source>Predicted peak against micro-batch, sequence, sharding and degrees, instead of the tables</source>
        <translation>以预测峰值随微批次、序列、切分与并行度的变化代替表格</translation>
    </message>
    <message>
        <source>Growth</source>
        <translation>增长</translation>
    </message>
    <message>
        <source>What is alive after the steps by who made it, and what rises, instead of the tables</source>
        <translation>按来源列出各步之后存活的内存以及上升的部分，代替表格</translation>
    </message>
    <message>
        <source>Segments</source>
        <translation>内存段</translation>
    </message>
    <message>
        <source>What the allocator took from the device, the buffers in it and the holes between, at the marked moment, instead of the tables</source>
        <translation>标记时刻分配器向设备取得的内存、其中的缓冲区及其间的空洞，代替表格</translation>
    </message>
</context>
<context>
    <name>MemoryComparePanel</name>
    <message>
        <source>model&apos;s error at the peak: %1</source>
        <translation>模型在峰值处的误差：%1</translation>
    </message>
    <message>
        <source>Predicted and recorded</source>
        <translation>预测与录制</translation>
    </message>
    <message>
        <source>Memory at the peak by category, predicted and recorded</source>
        <translation>峰值时各类别的内存，预测与录制</translation>
    </message>
    <message>
        <source>at the peak</source>
        <translation>峰值时</translation>
    </message>
    <message>
        <source>recorded</source>
        <translation>录制值</translation>
    </message>
    <message>
        <source>The recorded peak of this rank</source>
        <translation>此 rank 的录制峰值</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>The model&apos;s peak for the recorded plan</source>
        <translation>模型对录制计划的峰值</translation>
    </message>
    <message>
        <source>error</source>
        <translation>误差</translation>
    </message>
    <message>
        <source>100 x (predicted - recorded) / recorded</source>
        <translation>100 x (预测 - 录制) / 录制</translation>
    </message>
    <message>
        <source>sliders</source>
        <translation>滑块</translation>
    </message>
    <message>
        <source>The model&apos;s peak for the plan of the sliders</source>
        <translation>模型对滑块计划的峰值</translation>
    </message>
    <message>
        <source>all</source>
        <translation>全部</translation>
    </message>
    <message>
        <source>peak %1</source>
        <translation>峰值 %1</translation>
    </message>
    <message>
        <source>Prediction and sliders</source>
        <translation>预测与滑块</translation>
    </message>
    <message>
        <source>this trace</source>
        <translation>本轨迹</translation>
    </message>
    <message>
        <source>The predicted peak of this rank</source>
        <translation>本 rank 的预测峰值</translation>
    </message>
    <message>
        <source>the sliders say what this trace predicts</source>
        <translation>滑块与本轨迹的预测一致</translation>
    </message>
    <message>
        <source>replayed</source>
        <translation>重放</translation>
    </message>
    <message>
        <source>The peak of the recorded step with the changes of its replay</source>
        <translation>录制的那一步作了重放的改动后的峰值</translation>
    </message>
</context>
<context>
    <name>MemoryCounterPlot</name>
    <message>
        <source>Allocated memory over time</source>
        <translation>随时间变化的已分配内存</translation>
    </message>
    <message>
        <source>One line: what the profiler&apos;s allocator counted</source>
        <translation>一条曲线：性能分析器的分配器所计数的内存</translation>
    </message>
    <message>
        <source>since the profile began</source>
        <translation>自采集开始以来</translation>
    </message>
</context>
<context>
    <name>MemoryFigures</name>
    <message>
        <source>Peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>capacity of the device unknown</source>
        <translation>设备容量未知</translation>
    </message>
    <message>
        <source>Static at the peak</source>
        <translation>峰值时的静态部分</translation>
    </message>
    <message>
        <source>weights, gradients, optimizer state</source>
        <translation>权重、梯度、优化器状态</translation>
    </message>
    <message>
        <source>Dynamic at the peak</source>
        <translation>峰值时的动态部分</translation>
    </message>
    <message>
        <source>%1 of the peak</source>
        <translation>占峰值的 %1</translation>
    </message>
    <message>
        <source>stays at the end</source>
        <translation>结束时仍保留</translation>
    </message>
    <message>
        <source>stays after step %1</source>
        <translation>第 %1 步后仍保留</translation>
    </message>
    <message>
        <source>Resident</source>
        <translation>常驻</translation>
    </message>
    <message>
        <source>Reserved</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>the trace does not say what for</source>
        <translation>轨迹未说明用途</translation>
    </message>
    <message>
        <source>main memory of the process</source>
        <translation>rank 的主内存</translation>
    </message>
    <message>
        <source>of the device</source>
        <translation>设备内存</translation>
    </message>
    <message>
        <source>relative to the start of the profile: at most %1; what was allocated before is not in the file</source>
        <translation>相对于采集开始：最高 %1；之前已分配的内存不在文件中</translation>
    </message>
    <message>
        <source>peaks at %1 (%2); single buffers were not recorded</source>
        <translation>峰值 %1（%2）；未记录单个缓冲区</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>Highest</source>
        <translation>最高</translation>
    </message>
    <message>
        <source>above the start of the profile</source>
        <translation>高于采集开始时</translation>
    </message>
    <message>
        <source>Lowest</source>
        <translation>最低</translation>
    </message>
    <message>
        <source>against the start of the profile</source>
        <translation>相对于采集开始时</translation>
    </message>
    <message>
        <source>At the end</source>
        <translation>结束时</translation>
    </message>
    <message>
        <source>Before the start</source>
        <translation>开始之前</translation>
    </message>
    <message>
        <source>not in the file</source>
        <translation>文件中没有</translation>
    </message>
    <message>
        <source>%1 times</source>
        <translation>共 %1 次</translation>
    </message>
    <message>
        <source>memory ran out on other ranks: %1</source>
        <translation>其他 rank 内存不足：%1</translation>
    </message>
    <message>
        <source>other ranks, too: %1</source>
        <translation>其他 rank 亦然：%1</translation>
    </message>
    <message>
        <source>at most %1 above the start of the profile; what was there before is not in the file</source>
        <translation>最高比采集开始时多 %1；之前的内存不在文件中</translation>
    </message>
    <message>
        <source>taken throughout and hardly changing: reserved in advance or resident</source>
        <translation>全程占用且几乎不变：预先保留或常驻</translation>
    </message>
    <message>
        <source>the history begins with %1 alive</source>
        <translation>历史记录开始时已有 %1</translation>
    </message>
    <message>
        <source>under %1</source>
        <translation>低于 %1</translation>
    </message>
    <message>
        <source>as asked for; capacity unknown</source>
        <translation>按申请量计；容量未知</translation>
    </message>
    <message>
        <source>%1, taken throughout</source>
        <translation>%1，全程占用</translation>
    </message>
    <message>
        <source>At the history&apos;s begin</source>
        <translation>历史记录开始时</translation>
    </message>
    <message>
        <source>a peak before it is unknown</source>
        <translation>此前的峰值未知</translation>
    </message>
    <message>
        <source>%1 more: unknown what for</source>
        <translation>另有 %1 用途未知</translation>
    </message>
    <message>
        <source>at the end; %1 as rounded up</source>
        <translation>结束时；按分配器取整为 %1</translation>
    </message>
    <message>
        <source>most that the allocator held</source>
        <translation>分配器持有的最大值</translation>
    </message>
</context>
<context>
    <name>MemoryFitCard</name>
    <message>
        <source>What fits (predicted)</source>
        <translation>放得下什么（预测）</translation>
    </message>
    <message>
        <source>Predicted peak against micro-batch, sequence, sharding and degrees</source>
        <translation>预测峰值随微批次、序列、切分与并行度的变化</translation>
    </message>
    <message>
        <source>largest micro-batch that fits: %1 (global batch %2)</source>
        <translation>放得下的最大微批次：%1（全局批量 %2）</translation>
    </message>
    <message>
        <source>not even one sample fits</source>
        <translation>连一个样本也放不下</translation>
    </message>
</context>
<context>
    <name>MemoryFitPlot</name>
    <message>
        <source>%1 %2: %3</source>
        <translation>%1 %2：%3</translation>
    </message>
</context>
<context>
    <name>MemoryGroupModel</name>
    <message>
        <source>layer %1</source>
        <translation>第 %1 层</translation>
    </message>
    <message>
        <source>category</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>operator</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>buffer</source>
        <translation>缓冲区</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <source>share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>buffers</source>
        <translation>缓冲区数</translation>
    </message>
</context>
<context>
    <name>MemoryGrowthCard</name>
    <message>
        <source>Growth</source>
        <translation>增长</translation>
    </message>
    <message>
        <source>The trace has fewer than two moments to compare.</source>
        <translation>轨迹中可比较的时刻不足两个。</translation>
    </message>
    <message>
        <source>what is alive after a step does not rise</source>
        <translation>一步之后存活的内存没有上升</translation>
    </message>
    <message>
        <source>what is alive does not rise</source>
        <translation>存活的内存没有上升</translation>
    </message>
    <message>
        <source>grows by %1 a step</source>
        <translation>每步增长 %1</translation>
    </message>
    <message>
        <source>grows by %1 over the trace</source>
        <translation>在整个轨迹中增长 %1</translation>
    </message>
    <message>
        <source>; what stays fills the device after %1 more steps</source>
        <translation>；再过 %1 步，留存的部分将占满设备</translation>
    </message>
    <message>
        <source>made by</source>
        <translation>来自</translation>
    </message>
    <message>
        <source>first</source>
        <translation>最初</translation>
    </message>
    <message>
        <source>alive at the first moment</source>
        <translation>第一个时刻存活的字节</translation>
    </message>
    <message>
        <source>last</source>
        <translation>最后</translation>
    </message>
    <message>
        <source>alive at the last moment</source>
        <translation>最后一个时刻存活的字节</translation>
    </message>
    <message>
        <source>a step</source>
        <translation>每步</translation>
    </message>
    <message>
        <source>median of the slopes between all pairs of moments</source>
        <translation>所有时刻两两之间斜率的中位数</translation>
    </message>
    <message>
        <source>buffers</source>
        <translation>缓冲区</translation>
    </message>
    <message>
        <source>at the first and at the last moment</source>
        <translation>在第一个和最后一个时刻</translation>
    </message>
    <message>
        <source>of the growth</source>
        <translation>占增长</translation>
    </message>
    <message>
        <source>a moment</source>
        <translation>每个时刻</translation>
    </message>
    <message>
        <source>not known</source>
        <translation>未知</translation>
    </message>
    <message>
        <source>%1 to %2</source>
        <translation>%1 到 %2</translation>
    </message>
    <message>
        <source>%1 more</source>
        <translation>多 %1</translation>
    </message>
    <message>
        <source>%1 less</source>
        <translation>少 %1</translation>
    </message>
    <message>
        <source>as much</source>
        <translation>不变</translation>
    </message>
    <message>
        <source>from %1 to %2: %3, then %4, %5</source>
        <translation>从 %1 到 %2：先 %3，后 %4，%5</translation>
    </message>
    <message>
        <source>before</source>
        <translation>之前</translation>
    </message>
    <message>
        <source>alive at the begin of the measured range</source>
        <translation>所测区间开始时存活</translation>
    </message>
    <message>
        <source>after</source>
        <translation>之后</translation>
    </message>
    <message>
        <source>alive at its end</source>
        <translation>区间结束时存活</translation>
    </message>
    <message>
        <source>change</source>
        <translation>变化</translation>
    </message>
    <message>
        <source>at the begin and at the end of the measured range</source>
        <translation>所测区间开始和结束时</translation>
    </message>
</context>
<context>
    <name>MemoryMapCard</name>
    <message>
        <source>Segments</source>
        <translation>内存段</translation>
    </message>
    <message>
        <source>by address</source>
        <translation>按地址</translation>
    </message>
    <message>
        <source>by pool and stream</source>
        <translation>按内存池和流</translation>
    </message>
    <message>
        <source>largest first</source>
        <translation>从大到小</translation>
    </message>
    <message>
        <source>most free first</source>
        <translation>空闲多的在前</translation>
    </message>
    <message>
        <source>colours: category</source>
        <translation>颜色：类别</translation>
    </message>
    <message>
        <source>colours: state</source>
        <translation>颜色：状态</translation>
    </message>
    <message>
        <source>Order of the segments</source>
        <translation>内存段的顺序</translation>
    </message>
    <message>
        <source>What the colours of the segments mean</source>
        <translation>内存段颜色的含义</translation>
    </message>
    <message>
        <source>Reserved memory and the largest hole over time</source>
        <translation>保留内存和最大空洞随时间的变化</translation>
    </message>
    <message>
        <source>The trace does not say where the allocator&apos;s segments lie. PyTorch&apos;s memory snapshots do: call torch.cuda.memory._record_memory_history(), later torch.cuda.memory._dump_snapshot(&quot;snapshot.pickle&quot;), and open the file, alone or beside the profile of the same run.</source>
        <translation>该轨迹没有记录分配器的内存段在哪里。PyTorch 的内存快照有：先调用 torch.cuda.memory._record_memory_history()，之后调用 torch.cuda.memory._dump_snapshot(&quot;snapshot.pickle&quot;)，再打开该文件，可单独打开，也可与同一次运行的性能分析文件一起打开。</translation>
    </message>
    <message>
        <source>The allocator had no segments at this moment.</source>
        <translation>此刻分配器没有内存段。</translation>
    </message>
    <message>
        <source>%1 could not be served although %2 were free: the largest hole was %3</source>
        <translation>虽有 %2 空闲，仍无法满足 %1 的请求：最大空洞为 %3</translation>
    </message>
    <message>
        <source>%1 could not be served: %2 were free altogether</source>
        <translation>无法满足 %1 的请求：总共只有 %2 空闲</translation>
    </message>
    <message>
        <source>%1 in %2 segments, %3 free in them, largest hole %4</source>
        <translation>%2 个内存段共 %1，其中空闲 %3，最大空洞 %4</translation>
    </message>
    <message>
        <source>; %1 let go and not free yet</source>
        <translation>；%1 已释放但尚不可重用</translation>
    </message>
    <message>
        <source>; %1 buffers lie in no known segment</source>
        <translation>；%1 个缓冲区不在任何已知内存段中</translation>
    </message>
    <message>
        <source>reserved</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>in buffers</source>
        <translation>缓冲区占用</translation>
    </message>
    <message>
        <source>largest hole</source>
        <translation>最大空洞</translation>
    </message>
    <message>
        <source>in use</source>
        <translation>使用中</translation>
    </message>
    <message>
        <source>let go and not free yet</source>
        <translation>已放弃、尚未空闲</translation>
    </message>
</context>
<context>
    <name>MemoryMapPlot</name>
    <message>
        <source>Segments of the allocator</source>
        <translation>分配器的内存段</translation>
    </message>
    <message>
        <source>Each segment along its addresses, with the buffers in it and the holes between</source>
        <translation>每个内存段按地址展开，显示其中的缓冲区及其间的空洞</translation>
    </message>
    <message>
        <source>hole of %1</source>
        <translation>空洞 %1</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>%1 cut out for it</source>
        <translation>为它划出 %1</translation>
    </message>
    <message>
        <source>let go, and waits until other streams are done with it</source>
        <translation>已释放，等待其他流用完</translation>
    </message>
    <message>
        <source>made at %1</source>
        <translation>创建于 %1</translation>
    </message>
    <message>
        <source>address 0x%1</source>
        <translation>地址 0x%1</translation>
    </message>
    <message>
        <source>pool of small buffers</source>
        <translation>小缓冲区池</translation>
    </message>
    <message>
        <source>pool of large buffers</source>
        <translation>大缓冲区池</translation>
    </message>
    <message>
        <source>private pool</source>
        <translation>私有池</translation>
    </message>
    <message>
        <source>%1, expandable</source>
        <translation>%1，可扩展</translation>
    </message>
    <message>
        <source>segment of %1 · %2 · stream %3</source>
        <translation>内存段 %1 · %2 · 流 %3</translation>
    </message>
    <message>
        <source>%1 free in it, largest hole %2</source>
        <translation>其中空闲 %1，最大空洞 %2</translation>
    </message>
</context>
<context>
    <name>MemoryMoments</name>
    <message>
        <source>%1 asked for</source>
        <translation>申请 %1</translation>
    </message>
    <message>
        <source>%1 free on the device</source>
        <translation>设备空闲 %1</translation>
    </message>
    <message>
        <source>%1 allocated</source>
        <translation>已分配 %1</translation>
    </message>
    <message>
        <source>%1 reserved</source>
        <translation>已保留 %1</translation>
    </message>
    <message>
        <source>ran out of memory</source>
        <translation>内存不足</translation>
    </message>
    <message>
        <source>ran out of memory: %1</source>
        <translation>内存不足：%1</translation>
    </message>
</context>
<context>
    <name>MemoryStackPanel</name>
    <message>
        <source>Stack</source>
        <translation>调用栈</translation>
    </message>
    <message>
        <source>Close the stack</source>
        <translation>关闭调用栈</translation>
    </message>
    <message>
        <source>Call stack of the chosen buffer, innermost call first</source>
        <translation>所选缓冲区的调用栈，最内层调用在前</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
</context>
<context>
    <name>MemoryStrip</name>
    <message>
        <source>peak %1</source>
        <translation>峰值 %1</translation>
    </message>
    <message>
        <source>rank %1 · memory</source>
        <translation>rank %1 · 内存</translation>
    </message>
    <message>
        <source>%1 of %2 allocated</source>
        <translation>已分配 %1，共 %2</translation>
    </message>
    <message>
        <source>%1 allocated</source>
        <translation>已分配 %1</translation>
    </message>
    <message>
        <source>capacity %1, not to scale</source>
        <translation>容量 %1，未按比例</translation>
    </message>
    <message>
        <source>capacity %1</source>
        <translation>容量 %1</translation>
    </message>
    <message>
        <source>%1 more</source>
        <translation>另有 %1 项</translation>
    </message>
</context>
<context>
    <name>MemoryView</name>
    <message>
        <source>The memory of this trace could not be read. %1</source>
        <translation>无法读取此轨迹的内存数据。%1</translation>
    </message>
    <message>
        <source>Open or record a trace to see its memory.</source>
        <translation>打开或录制一个轨迹即可查看内存。</translation>
    </message>
    <message>
        <source>Rank %1 has no allocations in this trace.
Choose another rank on the timeline.</source>
        <translation>rank %1 在此轨迹中没有内存分配。
请在时间线上选择另一个 rank。</translation>
    </message>
    <message>
        <source>Alive at %1</source>
        <translation>%1 时存活</translation>
    </message>
    <message>
        <source>Alive at the peak</source>
        <translation>峰值时存活</translation>
    </message>
    <message>
        <source>static below</source>
        <translation>以下为静态</translation>
    </message>
    <message>
        <source>reserved</source>
        <translation>已保留</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>Rank</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Areas</source>
        <translation>面积图</translation>
    </message>
    <message>
        <source>Live memory by category</source>
        <translation>按类别显示存活内存</translation>
    </message>
    <message>
        <source>Blocks</source>
        <translation>块图</translation>
    </message>
    <message>
        <source>Every buffer as a block over its life</source>
        <translation>每个缓冲区按其生命周期画为一块</translation>
    </message>
    <message>
        <source>GB</source>
        <translation>GB</translation>
    </message>
    <message>
        <source>Decimal units: 1 GB is 10⁹ bytes</source>
        <translation>十进制单位：1 GB 为 10⁹ 字节</translation>
    </message>
    <message>
        <source>GiB</source>
        <translation>GiB</translation>
    </message>
    <message>
        <source>Binary units: 1 GiB is 2³⁰ bytes</source>
        <translation>二进制单位：1 GiB 为 2³⁰ 字节</translation>
    </message>
    <message>
        <source>Wall to scale</source>
        <translation>墙按比例</translation>
    </message>
    <message>
        <source>Keep the axis unbroken up to the device&apos;s capacity</source>
        <translation>纵轴连续直到设备容量</translation>
    </message>
    <message>
        <source>By address</source>
        <translation>按地址</translation>
    </message>
    <message>
        <source>Blocks at their recorded addresses instead of piled up</source>
        <translation>按记录的地址放置各块，而不是堆叠</translation>
    </message>
    <message>
        <source>Memory: zoom in</source>
        <translation>内存：放大</translation>
    </message>
    <message>
        <source>Memory: zoom out</source>
        <translation>内存：缩小</translation>
    </message>
    <message>
        <source>Memory: earlier</source>
        <translation>内存：向前</translation>
    </message>
    <message>
        <source>Memory: later</source>
        <translation>内存：向后</translation>
    </message>
    <message>
        <source>Memory: show everything</source>
        <translation>内存：显示全部</translation>
    </message>
    <message>
        <source>Memory: areas or blocks</source>
        <translation>内存：面积图或块图</translation>
    </message>
    <message>
        <source>Memory: wall to scale</source>
        <translation>内存：墙按比例</translation>
    </message>
    <message>
        <source>Memory: go to the peak</source>
        <translation>内存：转到峰值</translation>
    </message>
    <message>
        <source>Memory: show the instant on the timeline</source>
        <translation>内存：在时间线上显示此时刻</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>Memory · rank %1</source>
        <translation>内存 · rank %1</translation>
    </message>
    <message>
        <source>Memory: fit the measured range or step</source>
        <translation>内存：适应测量范围或训练步</translation>
    </message>
    <message>
        <source>Memory: measure by dragging</source>
        <translation>内存：拖动测量</translation>
    </message>
    <message>
        <source>Memory: clear the marks</source>
        <translation>内存：清除标记</translation>
    </message>
    <message>
        <source>Memory: what fits</source>
        <translation>内存：放得下什么</translation>
    </message>
    <message>
        <source>allocated since the profile began</source>
        <translation>自采集开始以来已分配</translation>
    </message>
    <message>
        <source>allocated</source>
        <translation>已分配</translation>
    </message>
    <message>
        <source>Memory: growth over the steps</source>
        <translation>内存：随步数的增长</translation>
    </message>
    <message>
        <source>Memory: the allocator&apos;s segments</source>
        <translation>内存：分配器的内存段</translation>
    </message>
</context>
<context>
    <name>MemoryWords</name>
    <message>
        <source>backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>smaller buffers</source>
        <translation>较小的缓冲区</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>第 %1 层</translation>
    </message>
    <message>
        <source>no layer</source>
        <translation>无层</translation>
    </message>
    <message>
        <source>unknown operator</source>
        <translation>未知算子</translation>
    </message>
    <message>
        <source>no phase</source>
        <translation>无阶段</translation>
    </message>
    <message>
        <source>peaks at %1</source>
        <translation>峰值为 %1</translation>
    </message>
    <message>
        <source>peaks at %1 as %2 begins</source>
        <translation>%2开始时达到峰值 %1</translation>
    </message>
    <message>
        <source>peaks at %1 during %2</source>
        <translation>%2期间达到峰值 %1</translation>
    </message>
    <message>
        <source>peaks at %1 as %2 ends</source>
        <translation>%2结束时达到峰值 %1</translation>
    </message>
    <message>
        <source>%1: %2 %3</source>
        <translation>%1：%2 %3</translation>
    </message>
    <message>
        <source>from before the history</source>
        <translation>历史记录开始之前</translation>
    </message>
    <message>
        <source>no stack recorded</source>
        <translation>未记录调用栈</translation>
    </message>
    <message>
        <source>and %1 more operators</source>
        <translation>以及另外 %1 个算子</translation>
    </message>
</context>
<context>
    <name>MessagePage</name>
    <message>
        <source>What to try: %1</source>
        <translation>可以尝试：%1</translation>
    </message>
</context>
<context>
    <name>MiniPlot</name>
    <message>
        <source>%1: this limit is far above all that is drawn. The axis is broken below it.</source>
        <translation>%1：这个上限远高于图中的一切，坐标轴在它下方断开。</translation>
    </message>
    <message>
        <source>not to scale</source>
        <translation>不按比例</translation>
    </message>
</context>
<context>
    <name>NotesDialog</name>
    <message>
        <source>Show</source>
        <translation>显示</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>删除</translation>
    </message>
    <message>
        <source>Bookmarks and notes of %1</source>
        <translation>%1 的书签与笔记</translation>
    </message>
    <message>
        <source>Double click shows the place; F2 changes the text. They are kept beside the trace.</source>
        <translation>双击显示该位置；F2 修改文字。它们保存在轨迹旁边。</translation>
    </message>
    <message>
        <source>Bookmarks</source>
        <translation>书签</translation>
    </message>
    <message>
        <source>Add what is shown now</source>
        <translation>添加当前显示的内容</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>mark %1</source>
        <translation>标记 %1</translation>
    </message>
</context>
<context>
    <name>OperatorsPage</name>
    <message>
        <source>Utilisation</source>
        <translation>利用率</translation>
    </message>
    <message>
        <source>Operators</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>MFU and HFU of each step</source>
        <translation>每步的 MFU 与 HFU</translation>
    </message>
    <message>
        <source>Operators by time</source>
        <translation>按时间的算子</translation>
    </message>
    <message>
        <source>step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>MFU, and HFU with recomputation</source>
        <translation>MFU，以及含重计算的 HFU</translation>
    </message>
    <message>
        <source>MFU</source>
        <translation>MFU</translation>
    </message>
    <message>
        <source>step %1%2: %3
MFU %4, HFU %5</source>
        <translation>第 %1 步%2：%3
MFU %4，HFU %5</translation>
    </message>
    <message>
        <source>FLOPs or the peak are not known</source>
        <translation>FLOPs 或峰值未知</translation>
    </message>
    <message>
        <source>The trace has no training steps.</source>
        <translation>此轨迹没有训练步。</translation>
    </message>
    <message>
        <source>operator</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>Of the time of all compute operators, over all ranks and measured steps</source>
        <translation>占所有 rank、所有测量步中计算算子总时间的比例</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>count</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>FLOP/s</source>
        <translation>FLOP/s</translation>
    </message>
    <message>
        <source>FLOPs / time</source>
        <translation>FLOPs / 时间</translation>
    </message>
    <message>
        <source>B/s</source>
        <translation>B/s</translation>
    </message>
    <message>
        <source>Bytes it must move in memory / time</source>
        <translation>必须搬运的内存字节 / 时间</translation>
    </message>
    <message>
        <source>bound by</source>
        <translation>受限于</translation>
    </message>
    <message>
        <source>memory: bytes / bandwidth &gt; FLOPs / peak; launch: shorter than %1</source>
        <translation>内存：字节 / 带宽 &gt; FLOPs / 峰值；启动：短于 %1</translation>
    </message>
    <message>
        <source>%1 each</source>
        <translation>每个 %1</translation>
    </message>
    <message>
        <source>%1 takes %2, layers together</source>
        <translation>%1 占 %2（各层合计）</translation>
    </message>
    <message>
        <source>no compute operators</source>
        <translation>没有计算算子</translation>
    </message>
    <message>
        <source>the %1 longest of %2</source>
        <translation>%2 个中最长的 %1 个</translation>
    </message>
    <message>
        <source>No MFU: %1.</source>
        <translation>无 MFU：%1。</translation>
    </message>
    <message>
        <source>Added up over all ranks and measured steps</source>
        <translation>所有 rank 与测量步之和</translation>
    </message>
    <message numerus="yes">
        <source>sums over %n rank(s)</source>
        <translation>
            <numerusform>%n 个 rank 之和</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source> and %n step(s)</source>
        <translation>
            <numerusform>，%n 步</numerusform>
        </translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>the median step</source>
        <translation>中位步</translation>
    </message>
    <message>
        <source>MFU %1, HFU %2 at %3</source>
        <translation>%3的 MFU %1，HFU %2</translation>
    </message>
    <message>
        <source>MFU %1 at %2</source>
        <translation>%2的 MFU %1</translation>
    </message>
</context>
<context>
    <name>OrderControls</name>
    <message>
        <source>%1 micro-batches</source>
        <translation>%1 个微批次</translation>
    </message>
    <message>
        <source>%1 chunks per stage</source>
        <translation>每级 %1 块</translation>
    </message>
    <message>
        <source>The passes cannot be ordered anew: %1.</source>
        <translation>各遍无法重新排序：%1。</translation>
    </message>
    <message>
        <source>This step cannot be run again: %1.</source>
        <translation>这一步无法重新运行：%1。</translation>
    </message>
    <message>
        <source>Not known yet.</source>
        <translation>尚未得知。</translation>
    </message>
    <message>
        <source>%1, as recorded</source>
        <translation>%1（录制时）</translation>
    </message>
    <message>
        <source>Order of the passes</source>
        <translation>各遍的次序</translation>
    </message>
    <message>
        <source>Micro-batches</source>
        <translation>微批次数</translation>
    </message>
    <message>
        <source>They keep their size and their measured passes</source>
        <translation>大小不变，各遍仍用测得的时间</translation>
    </message>
    <message>
        <source>Chunks per stage</source>
        <translation>每级块数</translation>
    </message>
    <message>
        <source>Virtual stages per rank, which take equal times</source>
        <translation>每个 rank 的虚拟级，用时相等</translation>
    </message>
    <message>
        <source>The measured passes in the order of another schedule</source>
        <translation>按另一种调度的次序排列测得的各遍</translation>
    </message>
</context>
<context>
    <name>Overview</name>
    <message>
        <source>no allocations in this trace: its memory is unknown</source>
        <translation>此轨迹没有内存分配记录：内存未知</translation>
    </message>
    <message>
        <source>peaks at %1 on rank %2; the capacity of its device is not known</source>
        <translation>rank %2 峰值 %1；其设备容量未知</translation>
    </message>
    <message>
        <source>%1 on rank %2, the device has %3: it does not fit</source>
        <translation>rank %2 需 %1，设备有 %3：放不下</translation>
    </message>
    <message>
        <source>%1 of %2 on rank %3: nothing larger fits</source>
        <translation>rank %3 占 %2 中的 %1：放不下更大的了</translation>
    </message>
    <message>
        <source>%1 of %2 on rank %3: there is room</source>
        <translation>rank %3 占 %2 中的 %1：还有空间</translation>
    </message>
    <message>
        <source>under 1 %</source>
        <translation>不到 1 %</translation>
    </message>
    <message>
        <source>one rank: there is nobody to talk to</source>
        <translation>单个 rank：没有通信对象</translation>
    </message>
    <message>
        <source>no measured step: what is exposed is unknown</source>
        <translation>没有测量步：暴露部分未知</translation>
    </message>
    <message>
        <source>%1 of the step exposed</source>
        <translation>该步 %1 暴露</translation>
    </message>
    <message>
        <source>%1 of the transfers hidden</source>
        <translation>传输的 %1 被隐藏</translation>
    </message>
    <message>
        <source>%1 lost to memory-bound kernels</source>
        <translation>%1 损失于内存受限内核</translation>
    </message>
    <message>
        <source>%1 lost to kernels below peak</source>
        <translation>%1 损失于低于峰值的内核</translation>
    </message>
    <message>
        <source>%1 idle</source>
        <translation>%1 空闲</translation>
    </message>
    <message>
        <source>kernels run near what the device can do</source>
        <translation>内核接近设备能力</translation>
    </message>
    <message>
        <source>MFU %1</source>
        <translation>MFU %1</translation>
    </message>
    <message>
        <source>operators in their order, without times</source>
        <translation>算子只有先后次序，没有时间</translation>
    </message>
    <message>
        <source>a job&apos;s own log: where the time goes is not in it</source>
        <translation>作业自己的日志：其中没有时间去向</translation>
    </message>
    <message>
        <source>no measured step: where its time goes is unknown</source>
        <translation>没有测量步：时间去向未知</translation>
    </message>
    <message>
        <source>%1 lost to the pipeline bubble</source>
        <translation>%1 损失于流水线气泡</translation>
    </message>
    <message>
        <source>best plan that fits: %1 predicted (%2): %3</source>
        <translation>放得下的最佳计划：预测 %1（%2）：%3</translation>
    </message>
    <message>
        <source>no plan on this number of devices fits into memory</source>
        <translation>此设备数下没有计划放得进内存</translation>
    </message>
    <message>
        <source>no plan that fits is predicted to be quicker</source>
        <translation>预测没有更快且放得下的计划</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Communication</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>Performance</source>
        <translation>性能</translation>
    </message>
    <message>
        <source>Tuning</source>
        <translation>调优</translation>
    </message>
    <message>
        <source>%1 of the step is recomputation and copies</source>
        <translation>该步 %1 是重计算和拷贝</translation>
    </message>
    <message>
        <source>%1 of the step is exposed communication</source>
        <translation>该步 %1 是暴露通信</translation>
    </message>
    <message>
        <source>%1 avoidable, most in memory-bound kernels</source>
        <translation>可避免 %1，主要为内存受限内核</translation>
    </message>
    <message>
        <source>%1 avoidable, most in kernels below peak</source>
        <translation>可避免 %1，主要为低于峰值的内核</translation>
    </message>
    <message>
        <source>%1 avoidable, most of it idle</source>
        <translation>可避免 %1，主要为空闲</translation>
    </message>
    <message>
        <source>%1 lost, most of it idle: the trace does not tell why</source>
        <translation>损失 %1，主要为空闲：轨迹没有说明原因</translation>
    </message>
    <message>
        <source>%1 of the step is pipeline bubble</source>
        <translation>该步 %1 是流水线气泡</translation>
    </message>
    <message>
        <source>another plan would save %1 of the step</source>
        <translation>换一个计划可节省该步 %1</translation>
    </message>
    <message>
        <source>costs nothing worth naming</source>
        <translation>没有值得一提的损失</translation>
    </message>
    <message>
        <source>%1 %2, %3 %4 instead of %5, %6</source>
        <translation>%1 %2，%3 %4，原为 %5，%6</translation>
    </message>
    <message>
        <source>%1 micro-batches instead of %2</source>
        <translation>%1 个微批次，原为 %2</translation>
    </message>
    <message>
        <source>ZeRO stage %1 instead of %2</source>
        <translation>ZeRO 阶段 %1，原为 %2</translation>
    </message>
    <message>
        <source>with sequence parallelism</source>
        <translation>使用序列并行</translation>
    </message>
    <message>
        <source>without sequence parallelism</source>
        <translation>不使用序列并行</translation>
    </message>
    <message>
        <source>schedule %1 instead of %2</source>
        <translation>调度 %1，原为 %2</translation>
    </message>
    <message>
        <source>communication beside computation</source>
        <translation>通信与计算重叠</translation>
    </message>
    <message>
        <source>fused operators</source>
        <translation>融合算子</translation>
    </message>
    <message>
        <source>fused attention</source>
        <translation>融合注意力</translation>
    </message>
    <message>
        <source>without offloading to the host</source>
        <translation>不卸载到主机</translation>
    </message>
    <message>
        <source>a rank</source>
        <translation>某个 rank</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>ranks %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>%1 ran out of memory</source>
        <translation>%1 显存不足</translation>
    </message>
    <message>
        <source>%1 wanted, %2 free</source>
        <translation>需要 %1，空闲 %2</translation>
    </message>
    <message>
        <source>%1 wanted</source>
        <translation>需要 %1</translation>
    </message>
    <message>
        <source>%1 of %2 in use</source>
        <translation>已用 %1，共 %2</translation>
    </message>
    <message>
        <source>%1 in use</source>
        <translation>已用 %1</translation>
    </message>
    <message>
        <source>rank %1: at most %2 relative to the start of the profile; what was in use then is unknown</source>
        <translation>rank %1：相对记录开始时最多 %2；开始时已用多少未知</translation>
    </message>
    <message>
        <source>rank %1: at most %2 of main memory in use, by the profiler&apos;s count</source>
        <translation>rank %1：按分析器的计数最多使用主存 %2</translation>
    </message>
    <message>
        <source>rank %1: at most %2 in use, by the profiler&apos;s count</source>
        <translation>rank %1：按分析器的计数最多使用 %2</translation>
    </message>
    <message>
        <source>rank %1: up to %2 more than at the start of the profile; what was in use then is unknown</source>
        <translation>rank %1：比记录开始时最多多 %2；开始时已用多少未知</translation>
    </message>
    <message>
        <source>%1 of %2 on rank %3, hardly changing: a reservation, or data that stays</source>
        <translation>rank %3 上占 %2 的 %1，几乎不变：是预留，或常驻的数据</translation>
    </message>
    <message>
        <source>a memory snapshot records no communication</source>
        <translation>内存快照不记录通信</translation>
    </message>
    <message>
        <source>no collectives in this trace</source>
        <translation>此轨迹中没有集合通信</translation>
    </message>
    <message>
        <source>none in this step, %1 in the trace</source>
        <translation>此步中没有，整个轨迹中有 %1 个</translation>
    </message>
    <message>
        <source>%1 requests in the step; how long the transfers took is not in the trace</source>
        <translation>此步有 %1 个请求；传输用了多久不在轨迹中</translation>
    </message>
    <message>
        <source>%1 of the step exposed, waiting and transfer</source>
        <translation>此步的 %1 为未被掩盖的等待与传输</translation>
    </message>
    <message>
        <source>%1 of its time is waiting for others</source>
        <translation>其时间的 %1 是在等待其他 rank</translation>
    </message>
    <message>
        <source>%1 of its time hidden</source>
        <translation>其时间的 %1 被掩盖</translation>
    </message>
    <message>
        <source>%1 between operators</source>
        <translation>%1 在算子之间</translation>
    </message>
    <message>
        <source>%1 of the step is computation</source>
        <translation>此步的 %1 是计算</translation>
    </message>
    <message>
        <source>a memory snapshot records no kernels</source>
        <translation>内存快照不记录内核</translation>
    </message>
    <message>
        <source>no measured step</source>
        <translation>没有计入的步</translation>
    </message>
    <message>
        <source>the only step</source>
        <translation>唯一的一步</translation>
    </message>
    <message>
        <source>the only measured step of %1</source>
        <translation>%1 步中唯一计入的一步</translation>
    </message>
    <message>
        <source>median of %1 steps</source>
        <translation>%1 步的中位数</translation>
    </message>
    <message>
        <source>ranks %1 to %2</source>
        <translation>各 rank %1 至 %2</translation>
    </message>
    <message>
        <source>%1 warm-up</source>
        <translation>%1 个预热</translation>
    </message>
    <message>
        <source>%1 cut</source>
        <translation>%1 个被截断</translation>
    </message>
    <message>
        <source>%1 odd</source>
        <translation>%1 个异常</translation>
    </message>
    <message>
        <source>left out: %1</source>
        <translation>未计入：%1</translation>
    </message>
    <message>
        <source>A memory snapshot records no communication. Open the run&apos;s profile beside it.</source>
        <translation>内存快照不记录通信。请把同一次运行的性能记录一并打开。</translation>
    </message>
    <message>
        <source>Reading the step…</source>
        <translation>正在读取此步…</translation>
    </message>
    <message>
        <source>No collectives are in this trace.</source>
        <translation>此轨迹中没有集合通信。</translation>
    </message>
    <message>
        <source>One rank: nothing is sent.</source>
        <translation>只有一个 rank：没有数据要发送。</translation>
    </message>
    <message>
        <source>This step has no collectives; others of the trace have.</source>
        <translation>此步没有集合通信；轨迹中其他步有。</translation>
    </message>
    <message>
        <source>All %1 collectives are of groups of one rank: nothing is sent.</source>
        <translation>全部 %1 个集合通信都在单 rank 的组内：没有数据要发送。</translation>
    </message>
    <message>
        <source>Only the requests of %1 collectives were recorded, not the transfers. Record the device&apos;s activity, too.</source>
        <translation>只记录了 %1 个集合通信的请求，没有记录传输。请把设备的活动也记录下来。</translation>
    </message>
    <message>
        <source>%1 collectives, but not all of their ranks are in the trace: waiting and transfer cannot be told apart, so there is no rate. Open the files of all ranks together.</source>
        <translation>有 %1 个集合通信，但参与的 rank 不全在轨迹中：等待与传输无法区分，因此没有速率。请把所有 rank 的文件一起打开。</translation>
    </message>
    <message>
        <source>%1 collectives, but the file does not say how many bytes they move: there is no rate.</source>
        <translation>有 %1 个集合通信，但文件没有说明传了多少字节：没有速率。</translation>
    </message>
    <message>
        <source>The transfers of this step took no time on the trace&apos;s clock.</source>
        <translation>按轨迹的时钟，此步的传输没有用时。</translation>
    </message>
    <message>
        <source>The rates of %1 collectives cannot be drawn.</source>
        <translation>%1 个集合通信的速率无法绘出。</translation>
    </message>
    <message>
        <source>%1 of the step in operators of the processor</source>
        <translation>此步的 %1 在处理器的算子中</translation>
    </message>
    <message>
        <source>the trace has %1</source>
        <translation>轨迹中有 %1</translation>
    </message>
    <message>
        <source>best plan so far that fits: %1 predicted (%2): %3</source>
        <translation>目前放得下的最佳计划：预测 %1（%2）：%3</translation>
    </message>
    <message>
        <source>no plan that fits is predicted to be quicker, among %1</source>
        <translation>已看的 %1 个计划中，没有放得下且预测更快的</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>kernels run above the peak: no roof is drawn</source>
        <translation>有内核超过峰值：不画屋顶</translation>
    </message>
    <message>
        <source>recomputation %1 instead of %2</source>
        <translation>重计算 %1，原为 %2</translation>
    </message>
    <message>
        <source>%1 requests; how long the transfers took is not in the trace</source>
        <translation>%1 个请求；传输用了多久不在轨迹中</translation>
    </message>
    <message>
        <source>%1 of the trace exposed, waiting and transfer</source>
        <translation>此轨迹的 %1 为未被掩盖的等待与传输</translation>
    </message>
    <message>
        <source>%1 of the trace exposed</source>
        <translation>此轨迹 %1 暴露</translation>
    </message>
    <message>
        <source>%1 of the trace in operators of the processor</source>
        <translation>此轨迹的 %1 在处理器的算子中</translation>
    </message>
    <message>
        <source>%1 of the trace is computation</source>
        <translation>此轨迹的 %1 是计算</translation>
    </message>
    <message>
        <source>%1 of the trace is recomputation and copies</source>
        <translation>此轨迹的 %1 是重计算与拷贝</translation>
    </message>
    <message>
        <source>%1 of the trace is exposed communication</source>
        <translation>此轨迹的 %1 是暴露的通信</translation>
    </message>
    <message>
        <source>nothing was recognised as a collective</source>
        <translation>没有内容被识别为集合通信</translation>
    </message>
    <message>
        <source>nothing is known to be work of a device, or of a job without one</source>
        <translation>没有已知属于设备（或无设备作业）的工作</translation>
    </message>
    <message>
        <source>Nothing in this trace was recognised as a collective.</source>
        <translation>此轨迹中没有内容被识别为集合通信。</translation>
    </message>
    <message>
        <source>%1 collectives, but the file does not say which ranks take part: waiting and transfer cannot be told apart, so there is no rate.</source>
        <translation>有 %1 个集合通信，但文件没有说明哪些 rank 参与：等待与传输无法区分，因此没有速率。</translation>
    </message>
    <message>
        <source>%1 collectives, but the ranks&apos; clocks could not be aligned: waiting and transfer cannot be told apart, so there is no rate.</source>
        <translation>有 %1 个集合通信，但各 rank 的时钟无法对齐：等待与传输无法区分，因此没有速率。</translation>
    </message>
    <message>
        <source>all that was recorded: no steps were recognised</source>
        <translation>记录的全部时间：未识别到步</translation>
    </message>
    <message>
        <source>all work of the device: no steps were recognised</source>
        <translation>设备的全部工作：未识别到步</translation>
    </message>
    <message>
        <source>Where the peak FLOP/s go</source>
        <translation>峰值 FLOP/s 的去向</translation>
    </message>
    <message>
        <source>Where the time goes</source>
        <translation>时间去了哪里</translation>
    </message>
    <message>
        <source>Where the step&apos;s time goes</source>
        <translation>一步的时间去了哪里</translation>
    </message>
    <message>
        <source>peak %1 per device, achieved %2 · adds up to the %3 of the trace</source>
        <translation>每设备峰值 %1，实际达到 %2 · 合计为轨迹的 %3</translation>
    </message>
    <message>
        <source>peak %1 per device, achieved %2 · adds up to the %3 step</source>
        <translation>每设备峰值 %1，实际达到 %2 · 合计为 %3 的一步</translation>
    </message>
    <message>
        <source>adds up to the %1 of the trace</source>
        <translation>合计为轨迹的 %1</translation>
    </message>
    <message>
        <source>adds up to the %1 step</source>
        <translation>合计为 %1 的一步</translation>
    </message>
    <message>
        <source>mean of %1</source>
        <translation>平均，%1</translation>
    </message>
    <message>
        <source>this trace has no measured step that all ranks took</source>
        <translation>此轨迹没有所有 rank 都参与的测量步</translation>
    </message>
    <message>
        <source>Nothing in this trace is known to be work of a device, or of a job without one.
The timeline shows what its threads did.</source>
        <translation>此轨迹中没有已知属于设备（或无设备作业）的工作。
时间线显示其线程做了什么。</translation>
    </message>
    <message>
        <source>An execution trace has operators in their order, and no times.
Open the profile of the same steps to see where their time goes.</source>
        <translation>执行轨迹只有算子的先后次序，没有时间。
打开同样这些步的性能记录，即可看到时间去了哪里。</translation>
    </message>
    <message>
        <source>The job&apos;s own log says how long its steps took, and not where their time went.</source>
        <translation>作业自己的日志说明了每步用时，没有说明时间去了哪里。</translation>
    </message>
    <message>
        <source>A memory snapshot has no steps and no kernels.
Open the run&apos;s profile beside it to see where its time goes.</source>
        <translation>内存快照中没有步，也没有内核。
把同一次运行的性能记录一并打开，即可看到时间去了哪里。</translation>
    </message>
    <message>
        <source>Without training steps there is no time to take apart.</source>
        <translation>没有训练步，就没有可以拆分的时间。</translation>
    </message>
    <message>
        <source>groups of one rank: nothing is sent</source>
        <translation>组内只有一个 rank：不发送任何数据</translation>
    </message>
    <message>
        <source>%1 while the program starts up</source>
        <translation>其中 %1 是程序启动期间</translation>
    </message>
</context>
<context>
    <name>OverviewFigures</name>
    <message>
        <source>guessed: %1</source>
        <translation>推测：%1</translation>
    </message>
    <message>
        <source>what if: %1</source>
        <translation>假设：%1</translation>
    </message>
    <message>
        <source>predicted %1</source>
        <translation>预测 %1</translation>
    </message>
    <message>
        <source>Time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>Device busy</source>
        <translation>设备忙碌</translation>
    </message>
    <message>
        <source>no measured step</source>
        <translation>没有计入的步</translation>
    </message>
    <message>
        <source>no device was recorded</source>
        <translation>没有记录设备</translation>
    </message>
    <message>
        <source>In operators</source>
        <translation>算子运行</translation>
    </message>
    <message>
        <source>of the processors: no device was recorded</source>
        <translation>指处理器：没有记录设备</translation>
    </message>
    <message>
        <source>mean of %1</source>
        <translation>平均，%1</translation>
    </message>
    <message>
        <source>%1, the only one here</source>
        <translation>%1，此处唯一的一个</translation>
    </message>
    <message>
        <source>computing, communicating or copying</source>
        <translation>计算、通信或复制</translation>
    </message>
    <message>
        <source>tok/s</source>
        <translation>tok/s</translation>
    </message>
    <message>
        <source>samples/s</source>
        <translation>样本/s</translation>
    </message>
    <message>
        <source>samples per step unknown</source>
        <translation>每步样本数未知</translation>
    </message>
    <message>
        <source>%1 per device</source>
        <translation>每设备 %1</translation>
    </message>
    <message>
        <source>Throughput</source>
        <translation>吞吐量</translation>
    </message>
    <message>
        <source>HFU %1</source>
        <translation>HFU %1</translation>
    </message>
    <message>
        <source>no allocations recorded</source>
        <translation>未记录内存分配</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>since the start of the profile</source>
        <translation>相对记录开始时</translation>
    </message>
    <message>
        <source>main memory, by the profiler&apos;s count</source>
        <translation>主存，按分析器的计数</translation>
    </message>
    <message>
        <source>by the profiler&apos;s count</source>
        <translation>按分析器的计数</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%2 的 %1</translation>
    </message>
    <message>
        <source>The wall that binds</source>
        <translation>起限制作用的墙</translation>
    </message>
    <message>
        <source>nothing is lost to any wall</source>
        <translation>任何墙都没有造成损失</translation>
    </message>
    <message>
        <source>a snapshot tells of memory only</source>
        <translation>快照只说明内存</translation>
    </message>
    <message>
        <source>then %1</source>
        <translation>其次是%1</translation>
    </message>
    <message>
        <source>replayed %1</source>
        <translation>重放 %1</translation>
    </message>
</context>
<context>
    <name>OverviewView</name>
    <message>
        <source>%1 capacity, not to scale</source>
        <translation>容量 %1，未按比例</translation>
    </message>
    <message>
        <source>%1 capacity</source>
        <translation>容量 %1</translation>
    </message>
    <message>
        <source>Memory of rank %1 over one step, peak %2</source>
        <translation>rank %1 一步内的内存，峰值 %2</translation>
    </message>
    <message>
        <source>bus bandwidth, %1</source>
        <translation>总线带宽，%1</translation>
    </message>
    <message>
        <source>link %1, not to scale</source>
        <translation>链路 %1，未按比例</translation>
    </message>
    <message>
        <source>link %1</source>
        <translation>链路 %1</translation>
    </message>
    <message>
        <source>Bus bandwidth of %1 collectives by message size</source>
        <translation>%1 个集合通信的总线带宽随消息大小的变化</translation>
    </message>
    <message>
        <source>FLOP/byte</source>
        <translation>FLOP/字节</translation>
    </message>
    <message>
        <source>peak %1</source>
        <translation>峰值 %1</translation>
    </message>
    <message>
        <source>%1 operators below the roofline</source>
        <translation>屋顶线下的 %1 个算子</translation>
    </message>
    <message>
        <source>Searching other plans…</source>
        <translation>正在搜索其他计划…</translation>
    </message>
    <message>
        <source>%1 usable, not to scale</source>
        <translation>可用 %1，未按比例</translation>
    </message>
    <message>
        <source>%1 usable</source>
        <translation>可用 %1</translation>
    </message>
    <message>
        <source>this plan</source>
        <translation>本计划</translation>
    </message>
    <message>
        <source>%1 plans by predicted step time and memory</source>
        <translation>%1 个计划的预测步时间与内存</translation>
    </message>
    <message>
        <source>Memory wall</source>
        <translation>内存墙</translation>
    </message>
    <message>
        <source>Communication wall</source>
        <translation>通信墙</translation>
    </message>
    <message>
        <source>Performance wall</source>
        <translation>性能墙</translation>
    </message>
    <message>
        <source>Tuning wall</source>
        <translation>调优墙</translation>
    </message>
    <message>
        <source>Live memory of the fullest rank over one step, below what its device holds. Opens the memory view.</source>
        <translation>最满 rank 一步内的活跃内存，位于设备容量之下。打开内存视图。</translation>
    </message>
    <message>
        <source>Bus bandwidth of collectives by message size, below what the link carries. Opens the communication view.</source>
        <translation>集合通信的总线带宽随消息大小的变化，位于链路能力之下。打开通信视图。</translation>
    </message>
    <message>
        <source>Operators below the roofline of the device: FLOP/s by FLOPs per byte. Opens the performance view.</source>
        <translation>设备屋顶线下的算子：FLOP/s 对每字节 FLOPs。打开性能视图。</translation>
    </message>
    <message>
        <source>Step time and memory that the cost model predicts for other plans on as many devices. Opens the plan search.</source>
        <translation>成本模型对同样设备数下其他计划预测的步时间与内存。打开计划搜索。</translation>
    </message>
    <message>
        <source>Overview: load the first suggestion into the sliders</source>
        <translation>概览：将第一条建议载入滑块</translation>
    </message>
    <message>
        <source>Overview: load the second suggestion into the sliders</source>
        <translation>概览：将第二条建议载入滑块</translation>
    </message>
    <message>
        <source>Overview: load the third suggestion into the sliders</source>
        <translation>概览：将第三条建议载入滑块</translation>
    </message>
    <message>
        <source>Overview: show the wall that binds</source>
        <translation>概览：显示起限制作用的墙</translation>
    </message>
    <message>
        <source>Open or record a trace to see its four walls.</source>
        <translation>打开或录制一个轨迹，查看它的四堵墙。</translation>
    </message>
    <message>
        <source>The figures of this trace could not be read. %1</source>
        <translation>无法读取此轨迹的数据。%1</translation>
    </message>
    <message>
        <source>No operator of this trace says how much it computes: without FLOPs there is no roofline.</source>
        <translation>此轨迹中没有算子说明其计算量：没有 FLOPs 就没有屋顶线。</translation>
    </message>
    <message>
        <source>operators by time, bytes unknown</source>
        <translation>按时间排列的算子，字节未知</translation>
    </message>
    <message>
        <source>%1 operators by time, bytes unknown</source>
        <translation>按时间排列的 %1 个算子，字节未知</translation>
    </message>
    <message>
        <source>%1 since the start</source>
        <translation>相对开始时，%1</translation>
    </message>
    <message>
        <source>Allocated memory by the profiler&apos;s count</source>
        <translation>分析器计数的已分配内存</translation>
    </message>
    <message>
        <source>A memory snapshot records no kernels. Open the run&apos;s profile beside it.</source>
        <translation>内存快照不记录内核。请把同一次运行的性能记录一并打开。</translation>
    </message>
    <message>
        <source>Without a specification of network, plan and devices no other plan can be predicted.
Fill them in under What if to compare plans.</source>
        <translation>不知道网络、并行方案和设备，就无法预测其他方案。
请在“假设”中填写，以便比较各方案。</translation>
    </message>
    <message>
        <source>No allocations are in this trace.</source>
        <translation>此轨迹中没有内存分配。</translation>
    </message>
    <message>
        <source>Operators of this trace say how much they compute, but no kernel is known to be theirs: there is no roofline.</source>
        <translation>此轨迹的算子说明了计算量，但不知道哪些内核属于它们：没有屋顶线。</translation>
    </message>
    <message>
        <source>No device&apos;s work is in this trace: an operator&apos;s time is that of launching it, which is no rate.</source>
        <translation>此轨迹中没有设备的工作：算子的时间只是启动它的时间，不能算作速率。</translation>
    </message>
    <message>
        <source>sliders</source>
        <translation>滑块</translation>
    </message>
</context>
<context>
    <name>PageActions</name>
    <message>
        <source>Open What-if</source>
        <translation>打开假设</translation>
    </message>
    <message>
        <source>Choose steps…</source>
        <translation>选择步…</translation>
    </message>
    <message>
        <source>Add a memory snapshot…</source>
        <translation>添加内存快照…</translation>
    </message>
</context>
<context>
    <name>PathPage</name>
    <message>
        <source>Critical path</source>
        <translation>关键路径</translation>
    </message>
    <message>
        <source>What the path is made of</source>
        <translation>路径的构成</translation>
    </message>
    <message>
        <source>Whose time it is</source>
        <translation>时间属于谁</translation>
    </message>
    <message>
        <source>Critical path over the ranks</source>
        <translation>跨 rank 的关键路径</translation>
    </message>
    <message>
        <source>Critical path by kind</source>
        <translation>按类型的关键路径</translation>
    </message>
    <message>
        <source>Critical path by rank</source>
        <translation>按 rank 的关键路径</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>传输</translation>
    </message>
    <message>
        <source>nothing ran on the path&apos;s rank</source>
        <translation>路径所在 rank 上没有任何运行</translation>
    </message>
    <message>
        <source>%1 work, %2 transfers, %3 gaps; %4 of it on rank %5, %6 changes of rank</source>
        <translation>计算 %1，传输 %2，空隙 %3；其中 %4 在 rank %5 上，%6 次切换 rank</translation>
    </message>
    <message>
        <source>nothing ran in this step</source>
        <translation>此步中没有任何运行</translation>
    </message>
    <message>
        <source>between ranks</source>
        <translation>rank 之间</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>what</source>
        <translation>内容</translation>
    </message>
    <message>
        <source>where</source>
        <translation>位置</translation>
    </message>
    <message>
        <source>share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>Of the step&apos;s time</source>
        <translation>占该步时间</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>pieces</source>
        <translation>段数</translation>
    </message>
    <message>
        <source>Times that the path goes through it</source>
        <translation>路径经过它的次数</translation>
    </message>
    <message>
        <source>longest operator</source>
        <translation>最长算子</translation>
    </message>
    <message>
        <source>Double click shows the longest piece on the timeline</source>
        <translation>双击在时间线中显示最长的一段</translation>
    </message>
    <message>
        <source>most of it is time in which nothing ran</source>
        <translation>其中大部分时间没有任何运行</translation>
    </message>
    <message>
        <source>%1 determines most</source>
        <translation>%1 起决定作用最多</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>%1 work, %2 communication (wait + transfer), %3 gaps; %4 of it on rank %5, %6 changes of rank</source>
        <translation>%1 工作，%2 通信（等待 + 传输），%3 空隙；其中 %4 在 rank %5 上，换 rank %6 次</translation>
    </message>
</context>
<context>
    <name>PathStrip</name>
    <message>
        <source>nothing ran</source>
        <translation>无运行</translation>
    </message>
    <message>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>rank %1: %2, %3</source>
        <translation>rank %1：%2，%3</translation>
    </message>
    <message>
        <source>, layer %1</source>
        <translation>，第 %1 层</translation>
    </message>
    <message>
        <source>
%1 operators, the longest %2</source>
        <translation>
%1 个算子，最长 %2</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>%1 other ranks</source>
        <translation>其他 %1 个 rank</translation>
    </message>
    <message>
        <source>%1 (wait + transfer)</source>
        <translation>%1（等待 + 传输）</translation>
    </message>
</context>
<context>
    <name>PerformanceView</name>
    <message>
        <source>Operators</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>Roofline, utilisation and the operators that take most</source>
        <translation>屋顶线、利用率与耗时最多的算子</translation>
    </message>
    <message>
        <source>Launches and fusion</source>
        <translation>启动与融合</translation>
    </message>
    <message>
        <source>Small operators, gaps between them, and what fusing would save</source>
        <translation>小算子、其间的空隙，以及融合可节省的时间</translation>
    </message>
    <message>
        <source>Critical path</source>
        <translation>关键路径</translation>
    </message>
    <message>
        <source>What determined when the step ended</source>
        <translation>什么决定了该步何时结束</translation>
    </message>
    <message>
        <source>of the devices&apos; peak</source>
        <translation>占设备峰值</translation>
    </message>
    <message>
        <source>with recomputation</source>
        <translation>含重计算</translation>
    </message>
    <message>
        <source>Bound by memory</source>
        <translation>受内存限制</translation>
    </message>
    <message>
        <source>of the operators&apos; time</source>
        <translation>占算子时间</translation>
    </message>
    <message>
        <source>Empty between operators</source>
        <translation>算子之间的空闲</translation>
    </message>
    <message>
        <source>of the step, rank %1</source>
        <translation>占该步，rank %1</translation>
    </message>
    <message>
        <source>Fusing would save</source>
        <translation>融合可节省</translation>
    </message>
    <message>
        <source>per step, an estimate</source>
        <translation>每步，估计值</translation>
    </message>
    <message>
        <source>This trace has no operators.
A memory snapshot alone says nothing of time: import it together with the profile of the same run.</source>
        <translation>此轨迹没有算子。
仅有内存快照无法反映时间：请与同一次运行的性能分析文件一起导入。</translation>
    </message>
    <message>
        <source>of %1</source>
        <translation>占 %1</translation>
    </message>
    <message>
        <source>Experts</source>
        <translation>专家</translation>
    </message>
    <message>
        <source>Tokens by layer and expert, and what uneven loads cost</source>
        <translation>按层与专家的 token，以及负载不均的代价</translation>
    </message>
</context>
<context>
    <name>PipelinePlot</name>
    <message>
        <source>backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>Pipeline stages over time</source>
        <translation>流水级随时间的变化</translation>
    </message>
    <message>
        <source>stage %1</source>
        <translation>流水级 %1</translation>
    </message>
    <message>
        <source>micro-batch %1 · %2</source>
        <translation>微批次 %1 · %2</translation>
    </message>
    <message>
        <source>stage %1 · rank %2</source>
        <translation>流水级 %1 · rank %2</translation>
    </message>
    <message>
        <source>chunk %1 of %2</source>
        <translation>第 %1 / %2 块</translation>
    </message>
    <message>
        <source>bubble</source>
        <translation>气泡</translation>
    </message>
    <message>
        <source>waiting or empty</source>
        <translation>等待或空闲</translation>
    </message>
    <message>
        <source>of the pipeline window</source>
        <translation>占流水线窗口</translation>
    </message>
    <message>
        <source>duration</source>
        <translation>时长</translation>
    </message>
    <message>
        <source>begins at</source>
        <translation>开始于</translation>
    </message>
    <message>
        <source>activations in flight</source>
        <translation>在途激活</translation>
    </message>
</context>
<context>
    <name>PipelineView</name>
    <message>
        <source>mean of all pipelines %1</source>
        <translation>所有流水线的平均值 %1</translation>
    </message>
    <message>
        <source>Open or record a trace to see its pipeline.</source>
        <translation>打开或录制一个轨迹，查看它的流水线。</translation>
    </message>
    <message>
        <source>The pipeline of this trace could not be read. %1</source>
        <translation>无法读取此轨迹的流水线。%1</translation>
    </message>
    <message>
        <source>Nothing in this step says what is forward and what is backward: no phases were recorded, and the names of the operators do not tell.
In PyTorch, record with the autograd operators (CPU activities).</source>
        <translation>此步中没有信息说明哪些是前向、哪些是反向：未记录阶段，算子名称也无法判断。
在 PyTorch 中请同时录制 autograd 算子（CPU 活动）。</translation>
    </message>
    <message>
        <source>(p − 1) / p: one micro-batch at a time</source>
        <translation>(p − 1) / p：一次一个微批次</translation>
    </message>
    <message>
        <source>(p − 1) / (m + p − 1), for p equal stages and m micro-batches</source>
        <translation>(p − 1) / (m + p − 1)，p 个相同流水级、m 个微批次</translation>
    </message>
    <message>
        <source>(p − 1) / (v m + p − 1), for v chunks per stage</source>
        <translation>(p − 1) / (v m + p − 1)，每级 v 块</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Pipeline</source>
        <translation>流水线</translation>
    </message>
    <message>
        <source>Which of the equal pipelines is drawn: tensor-parallel ranks and data-parallel replicas each have one</source>
        <translation>绘制哪一条等同的流水线：每个张量并行 rank 和数据并行副本各有一条</translation>
    </message>
    <message>
        <source>By micro-batch</source>
        <translation>按微批次</translation>
    </message>
    <message>
        <source>Colours tell micro-batches apart instead of passes</source>
        <translation>颜色区分微批次而不是前向/反向</translation>
    </message>
    <message>
        <source>Show on the timeline</source>
        <translation>在时间线中显示</translation>
    </message>
    <message>
        <source>Opens the timeline at the pass that was clicked</source>
        <translation>在被单击处打开时间线</translation>
    </message>
    <message>
        <source>Bubble by stage</source>
        <translation>各流水级的气泡</translation>
    </message>
    <message>
        <source>Bubble by schedule</source>
        <translation>各调度的气泡</translation>
    </message>
    <message>
        <source>Busy and empty time of every stage</source>
        <translation>每个流水级的忙碌与空闲时间</translation>
    </message>
    <message>
        <source>stage</source>
        <translation>流水级</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>busy</source>
        <translation>忙碌</translation>
    </message>
    <message>
        <source>warm-up</source>
        <translation>预热</translation>
    </message>
    <message>
        <source>waits</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>drain</source>
        <translation>排空</translation>
    </message>
    <message>
        <source>bubble</source>
        <translation>气泡</translation>
    </message>
    <message>
        <source>waiting or empty</source>
        <translation>等待或空闲</translation>
    </message>
    <message>
        <source>in flight</source>
        <translation>在途</translation>
    </message>
    <message>
        <source>forward</source>
        <translation>前向</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>weight gradient</source>
        <translation>权重梯度</translation>
    </message>
    <message>
        <source>Computing, or communicating other than with neighbours: share of the pipeline window W, which runs from the first forward&apos;s start to the last backward&apos;s end over all stages</source>
        <translation>计算，或与非相邻级通信：占流水线窗口 W 的比例；W 从所有级中第一个前向开始到最后一个反向结束</translation>
    </message>
    <message>
        <source>Empty before the stage&apos;s first pass</source>
        <translation>该级第一次通过之前的空闲</translation>
    </message>
    <message>
        <source>Empty between and within its passes</source>
        <translation>各次通过之间与之内的空闲</translation>
    </message>
    <message>
        <source>Empty after its last pass</source>
        <translation>最后一次通过之后的空闲</translation>
    </message>
    <message>
        <source>(W − busy) / W: warm-up, waits and drain together</source>
        <translation>(W − 忙碌) / W：预热、等待与排空之和</translation>
    </message>
    <message>
        <source>Most micro-batches whose activations were alive at once, and how many the schedule needs</source>
        <translation>激活同时存活的最多微批次数，以及该调度所需的数目</translation>
    </message>
    <message>
        <source>Mean time of one micro-batch through one chunk</source>
        <translation>一个微批次通过一块的平均时间</translation>
    </message>
    <message>
        <source>Pipeline: zoom in</source>
        <translation>流水线：放大</translation>
    </message>
    <message>
        <source>Pipeline: zoom out</source>
        <translation>流水线：缩小</translation>
    </message>
    <message>
        <source>Pipeline: earlier</source>
        <translation>流水线：更早</translation>
    </message>
    <message>
        <source>Pipeline: later</source>
        <translation>流水线：更晚</translation>
    </message>
    <message>
        <source>Pipeline: show the whole step</source>
        <translation>流水线：显示整步</translation>
    </message>
    <message>
        <source>Pipeline: colours by micro-batch</source>
        <translation>流水线：按微批次着色</translation>
    </message>
    <message>
        <source>Pipeline: show the pass on the timeline</source>
        <translation>流水线：在时间线中显示该次通过</translation>
    </message>
    <message>
        <source>Pipeline: next pass</source>
        <translation>流水线：下一次通过</translation>
    </message>
    <message>
        <source>Pipeline: previous pass</source>
        <translation>流水线：上一次通过</translation>
    </message>
    <message>
        <source>Pipeline: next stage</source>
        <translation>流水线：下一级</translation>
    </message>
    <message>
        <source>Pipeline: previous stage</source>
        <translation>流水线：上一级</translation>
    </message>
    <message>
        <source>Imported</source>
        <translation>导入</translation>
    </message>
    <message>
        <source>Predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>Recorded</source>
        <translation>录制</translation>
    </message>
    <message>
        <source>Predicted: what if</source>
        <translation>预测：假设</translation>
    </message>
    <message>
        <source>Predicted for this plan</source>
        <translation>对本计划的预测</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>step time %1 · bubble %2</source>
        <translation>步时间 %1 · 气泡 %2</translation>
    </message>
    <message>
        <source>%1 longer: %2</source>
        <translation>长 %1：%2</translation>
    </message>
    <message>
        <source>%1 shorter: %2</source>
        <translation>短 %1：%2</translation>
    </message>
    <message>
        <source>one stage: no bubble</source>
        <translation>只有一级：没有气泡</translation>
    </message>
    <message>
        <source>one stage (pp=1): nobody waits for a neighbour, so there is no bubble</source>
        <translation>只有一级（pp=1）：无需等待相邻级，因此没有气泡</translation>
    </message>
    <message>
        <source>bubble %1 of the pipeline window</source>
        <translation>气泡占流水线窗口 %1</translation>
    </message>
    <message>
        <source>ideal %1 %2</source>
        <translation>理想 %1 %2</translation>
    </message>
    <message>
        <source>%1 stages, %2 micro-batches</source>
        <translation>%1 级，%2 个微批次</translation>
    </message>
    <message>
        <source>inferred: passes from runs of operators of one direction, micro-batches counted in their order</source>
        <translation>推断：由同方向的连续算子得到各次通过，按其顺序计微批次</translation>
    </message>
    <message>
        <source>inferred: stages from the process groups</source>
        <translation>推断：由进程组得到流水级</translation>
    </message>
    <message>
        <source>micro-batch %1</source>
        <translation>微批次 %1</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>this prediction</source>
        <translation>本预测</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>实测</translation>
    </message>
    <message>
        <source>Forward, input and weight gradient taken as equally long: this trace does not tell them apart.</source>
        <translation>前向、输入梯度与权重梯度按等长处理：此轨迹无法区分。</translation>
    </message>
    <message>
        <source>ideal of %1 equal stages, %2 micro-batches</source>
        <translation>%1 个相同流水级、%2 个微批次的理想值</translation>
    </message>
    <message>
        <source>(p − 1)(F + B − S) / (m (F + B + W) + (p − 1)(F + B − S)), with the mean forward, input-gradient and weight-gradient times F, B and W of this step and S, the shortest of the three</source>
        <translation>(p − 1)(F + B − S) / (m (F + B + W) + (p − 1)(F + B − S))，F、B、W 为此步前向、输入梯度与权重梯度的平均时间，S 为三者中最短的</translation>
    </message>
    <message>
        <source>median step %1</source>
        <translation>中位步 %1</translation>
    </message>
    <message>
        <source>This trace marks no training steps that all of its ranks took: there is no step to take apart.</source>
        <translation>此轨迹没有标出所有 rank 共同执行的训练步：没有可以拆分的步。</translation>
    </message>
    <message>
        <source>inferred: %1</source>
        <translation>推断：%1</translation>
    </message>
    <message>
        <source>Mean time of one micro-batch&apos;s input gradients in one chunk, recomputation included; its weight gradients stand beside</source>
        <translation>一个微批次在一个分块中计算输入梯度的平均时间，含重计算；权重梯度另列于旁</translation>
    </message>
    <message>
        <source>Mean time of one micro-batch&apos;s backward pass through one chunk, recomputation included</source>
        <translation>一个微批次反向通过一个分块的平均时间，含重计算</translation>
    </message>
    <message>
        <source>ranks %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>The bubble of this stage in the step below: predicted by the cost model, or replayed</source>
        <translation>下方那一步中该流水级的气泡：由成本模型预测，或重放得到</translation>
    </message>
    <message>
        <source>Replayed: %1</source>
        <translation>重放：%1</translation>
    </message>
    <message>
        <source>as long: %1</source>
        <translation>一样长：%1</translation>
    </message>
</context>
<context>
    <name>PlaceWords</name>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>%1 from %2 on</source>
        <translation>自 %2 起 %1</translation>
    </message>
    <message>
        <source>selected: %1</source>
        <translation>选中：%1</translation>
    </message>
    <message>
        <source>marked: %1</source>
        <translation>标出：%1</translation>
    </message>
</context>
<context>
    <name>PlanLines</name>
    <message>
        <source>chunks</source>
        <translation>块数</translation>
    </message>
    <message>
        <source>micro-b.</source>
        <translation>微批次</translation>
    </message>
    <message>
        <source>recompute</source>
        <translation>重计算</translation>
    </message>
    <message>
        <source>step time</source>
        <translation>步时间</translation>
    </message>
    <message>
        <source>peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>%1: %2 to %3</source>
        <translation>%1：%2 至 %3</translation>
    </message>
    <message>
        <source>%1, shown from %2 to %3</source>
        <translation>%1，显示 %2 至 %3</translation>
    </message>
</context>
<context>
    <name>PlanRequest</name>
    <message>
        <source>These machines are not this one: the engine here runs on the processor.</source>
        <translation>所选机器不是本机：此处的引擎在处理器上运行。</translation>
    </message>
    <message>
        <source>The engine trains in f32 or bf16.</source>
        <translation>引擎以 f32 或 bf16 训练。</translation>
    </message>
    <message>
        <source>All ranks together need %1, this machine has %2.</source>
        <translation>所有 rank 共需 %1，本机有 %2。</translation>
    </message>
</context>
<context>
    <name>PlanScatter</name>
    <message>
        <source>step time</source>
        <translation>步时间</translation>
    </message>
    <message>
        <source>peak memory of a rank</source>
        <translation>单 rank 峰值内存</translation>
    </message>
    <message>
        <source>%1: the device&apos;s memory</source>
        <translation>%1：设备内存</translation>
    </message>
    <message>
        <source>, does not fit</source>
        <translation>，放不下</translation>
    </message>
    <message>
        <source>%1: the device&apos;s memory, not to scale</source>
        <translation>%1：设备内存，未按比例</translation>
    </message>
    <message>
        <source>%1, not to scale</source>
        <translation>%1，未按比例</translation>
    </message>
</context>
<context>
    <name>PlanTableModel</name>
    <message>
        <source>tok/s</source>
        <translation>tok/s</translation>
    </message>
    <message>
        <source>plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>step time</source>
        <translation>步时间</translation>
    </message>
    <message>
        <source>throughput</source>
        <translation>吞吐</translation>
    </message>
    <message>
        <source>Energy of all devices in a step, modelled: each draws its power limit while it computes and half of it while it waits</source>
        <translation>一步中全部设备的能量，建模所得：设备计算时消耗其功率上限，等待时消耗一半</translation>
    </message>
    <message>
        <source>energy</source>
        <translation>能量</translation>
    </message>
    <message>
        <source>Peak memory of the rank that fills its device most</source>
        <translation>设备占用最多的 rank 的峰值内存</translation>
    </message>
    <message>
        <source>peak</source>
        <translation>峰值内存</translation>
    </message>
</context>
<context>
    <name>PlanWords</name>
    <message>
        <source>naive</source>
        <translation>朴素</translation>
    </message>
    <message>
        <source>interleaved ×%1</source>
        <translation>交错 ×%1</translation>
    </message>
    <message>
        <source>interleaved</source>
        <translation>交错</translation>
    </message>
    <message>
        <source>zero-bubble (%1)</source>
        <translation>零气泡（%1）</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>selective</source>
        <translation>选择性</translation>
    </message>
    <message>
        <source>full</source>
        <translation>完全</translation>
    </message>
    <message>
        <source>recompute %1</source>
        <translation>重计算 %1</translation>
    </message>
    <message>
        <source>even layers</source>
        <translation>层数均匀</translation>
    </message>
    <message>
        <source>layers %1</source>
        <translation>各级层数 %1</translation>
    </message>
    <message>
        <source>one device</source>
        <translation>单设备</translation>
    </message>
    <message>
        <source>stages side by side</source>
        <translation>流水级相邻</translation>
    </message>
    <message>
        <source>replicas side by side</source>
        <translation>副本相邻</translation>
    </message>
    <message>
        <source>ep overlapped</source>
        <translation>ep 重叠</translation>
    </message>
    <message>
        <source>%1 routing</source>
        <translation>%1 路由</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>激活</translation>
    </message>
    <message>
        <source>parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>offload %1</source>
        <translation>卸载 %1</translation>
    </message>
    <message>
        <source>collectives %1</source>
        <translation>集合通信 %1</translation>
    </message>
    <message>
        <source>no overlap</source>
        <translation>不重叠</translation>
    </message>
    <message>
        <source>not fused</source>
        <translation>不融合</translation>
    </message>
    <message>
        <source>not in place</source>
        <translation>不原地</translation>
    </message>
    <message>
        <source>unfused attention</source>
        <translation>非融合注意力</translation>
    </message>
    <message>
        <source>servers %1</source>
        <translation>服务器 %1</translation>
    </message>
    <message>
        <source>no reshard</source>
        <translation>不重新分片</translation>
    </message>
</context>
<context>
    <name>PlotTable</name>
    <message>
        <source>Copy the cell</source>
        <translation>复制单元格</translation>
    </message>
    <message>
        <source>Copy the selected rows as CSV</source>
        <translation>将所选行复制为 CSV</translation>
    </message>
    <message>
        <source>Copy the whole table as CSV</source>
        <translation>将整个表格复制为 CSV</translation>
    </message>
</context>
<context>
    <name>PredictionCard</name>
    <message>
        <source>Global batch</source>
        <translation>全局批量</translation>
    </message>
    <message>
        <source>Samples per step over all ranks. A batch that the plan does not divide becomes the nearest one that it divides.</source>
        <translation>每步所有 rank 的样本数。计划无法整除的批量会变为最接近的可整除的批量。</translation>
    </message>
    <message>
        <source>Impossible: %1</source>
        <translation>不可行：%1</translation>
    </message>
    <message>
        <source>The recorded plan cannot be predicted: %1</source>
        <translation>无法预测录制的计划：%1</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>步时间 %1</translation>
    </message>
    <message>
        <source>memory %1</source>
        <translation>内存 %1</translation>
    </message>
    <message>
        <source>Model error on this trace&apos;s own plan: %1.</source>
        <translation>模型在此轨迹自身计划上的误差：%1。</translation>
    </message>
    <message>
        <source>tok/s</source>
        <translation>tok/s</translation>
    </message>
    <message>
        <source>Throughput</source>
        <translation>吞吐</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>Between %1 and %2; most of it goes to %3.</source>
        <translation>介于 %1 与 %2 之间；大部分用于%3。</translation>
    </message>
    <message>
        <source>Predicted before it was recorded: %1 (%2).</source>
        <translation>录制之前的预测：%1（%2）。</translation>
    </message>
    <message>
        <source>sliders</source>
        <translation>滑块</translation>
    </message>
    <message>
        <source>fits: %1 of %2</source>
        <translation>放得下：%2 中的 %1</translation>
    </message>
    <message>
        <source>does not fit: %1 of %2</source>
        <translation>放不下：%2 中需要 %1</translation>
    </message>
    <message>
        <source>Energy</source>
        <translation>能量</translation>
    </message>
    <message>
        <source>Energy of all devices in a step, modelled: each draws its power limit while it computes and half of it while it waits.</source>
        <translation>一步中全部设备的能量，建模所得：设备计算时消耗其功率上限，等待时消耗一半。</translation>
    </message>
    <message>
        <source>Throughput, samples/s</source>
        <translation>吞吐，样本/s</translation>
    </message>
</context>
<context>
    <name>PredictionStrip</name>
    <message>
        <source>outside of the network</source>
        <translation>网络之外</translation>
    </message>
    <message>
        <source>sending</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>receiving</source>
        <translation>接收</translation>
    </message>
    <message>
        <source>waiting for a neighbour</source>
        <translation>等待相邻级</translation>
    </message>
    <message>
        <source>waiting for the other ranks</source>
        <translation>等待其他 rank</translation>
    </message>
</context>
<context>
    <name>QObject</name>
    <message>
        <source>choose a folder that can be written to</source>
        <translation>请选择可写入的文件夹</translation>
    </message>
</context>
<context>
    <name>QueryPanel</name>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Examples</source>
        <translation>示例</translation>
    </message>
    <message>
        <source>operators that take most time</source>
        <translation>最耗时的算子</translation>
    </message>
    <message>
        <source>where each rank&apos;s steps went</source>
        <translation>各 rank 的步时间花在哪里</translation>
    </message>
    <message>
        <source>time by layer and phase</source>
        <translation>按层和阶段统计时间</translation>
    </message>
    <message>
        <source>who waits in which collective</source>
        <translation>谁在哪个集合通信中等待</translation>
    </message>
    <message>
        <source>largest buffers</source>
        <translation>最大的缓冲区</translation>
    </message>
    <message>
        <source>Insert a table</source>
        <translation>插入表名</translation>
    </message>
    <message>
        <source>SQL query</source>
        <translation>SQL 查询</translation>
    </message>
    <message>
        <source>One SELECT over the tables and views of the trace file; the manual lists their columns</source>
        <translation>对轨迹文件的表和视图执行一条 SELECT；各列见手册</translation>
    </message>
    <message>
        <source>Forget</source>
        <translation>移除</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>保存</translation>
    </message>
    <message>
        <source>Takes this query out of the saved ones</source>
        <translation>把此查询从已保存的查询中移除</translation>
    </message>
    <message>
        <source>Keeps this query among the examples, for every trace; its first line is its name</source>
        <translation>把此查询保存到示例中，对每条轨迹可用；第一行为其名称</translation>
    </message>
    <message>
        <source>Run (Ctrl+Enter)</source>
        <translation>运行 (Ctrl+Enter)</translation>
    </message>
    <message>
        <source>Asks the trace&apos;s file, which is only read (Ctrl+Enter). Times are nanoseconds, sizes bytes.</source>
        <translation>查询轨迹文件，只读不写（Ctrl+Enter）。时间为纳秒，大小为字节。</translation>
    </message>
</context>
<context>
    <name>QueryTableModel</name>
    <message>
        <source>(packed, %1)</source>
        <translation>（压缩数据，%1）</translation>
    </message>
</context>
<context>
    <name>RecordDialog</name>
    <message>
        <source>Record a training</source>
        <translation>录制训练</translation>
    </message>
    <message>
        <source>Command line</source>
        <translation>命令行</translation>
    </message>
    <message>
        <source>Copy as command</source>
        <translation>复制为命令</translation>
    </message>
    <message>
        <source>Record</source>
        <translation>录制</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Steps done</source>
        <translation>已完成的步数</translation>
    </message>
    <message>
        <source>the model&apos;s own</source>
        <translation>模型自身的长度</translation>
    </message>
    <message>
        <source>SGD with momentum</source>
        <translation>带动量的 SGD</translation>
    </message>
    <message>
        <source>bf16 mixed</source>
        <translation>bf16 混合精度</translation>
    </message>
    <message>
        <source>the text that comes with Fourwalls</source>
        <translation>Fourwalls 自带的文本</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>选择…</translation>
    </message>
    <message>
        <source>Choose: %1</source>
        <translation>选择：%1</translation>
    </message>
    <message>
        <source>&amp;Model</source>
        <translation>模型(&amp;M)</translation>
    </message>
    <message>
        <source>&amp;Steps</source>
        <translation>步数(&amp;S)</translation>
    </message>
    <message>
        <source>&amp;Batch</source>
        <translation>批大小(&amp;B)</translation>
    </message>
    <message>
        <source>Se&amp;quence length</source>
        <translation>序列长度(&amp;Q)</translation>
    </message>
    <message>
        <source>&amp;Optimizer</source>
        <translation>优化器(&amp;O)</translation>
    </message>
    <message>
        <source>&amp;Learning rate</source>
        <translation>学习率(&amp;L)</translation>
    </message>
    <message>
        <source>&amp;Precision</source>
        <translation>精度(&amp;P)</translation>
    </message>
    <message>
        <source>&amp;Data</source>
        <translation>数据(&amp;D)</translation>
    </message>
    <message>
        <source>Data</source>
        <translation>数据</translation>
    </message>
    <message>
        <source>A text to train on</source>
        <translation>用于训练的文本</translation>
    </message>
    <message>
        <source>Save &amp;as</source>
        <translation>另存为(&amp;A)</translation>
    </message>
    <message>
        <source>Save as</source>
        <translation>另存为</translation>
    </message>
    <message>
        <source>Save the recording as</source>
        <translation>将录制另存为</translation>
    </message>
    <message>
        <source>Traces (*.fourwalls)</source>
        <translation>轨迹文件 (*.fourwalls)</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>训练步</translation>
    </message>
    <message>
        <source>Batch</source>
        <translation>批大小</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Starting…</source>
        <translation>正在启动…</translation>
    </message>
    <message>
        <source>Finishing the file…</source>
        <translation>正在完成文件…</translation>
    </message>
    <message>
        <source>one rank; for example dp=2 pp=2 microbatches=4</source>
        <translation>单个 rank；例如 dp=2 pp=2 microbatches=4</translation>
    </message>
    <message>
        <source>wall clock: what happens here</source>
        <translation>墙上时钟：本机的实际情况</translation>
    </message>
    <message>
        <source>device clock: a device per rank</source>
        <translation>设备时钟：每 rank 一个设备</translation>
    </message>
    <message>
        <source>Pla&amp;n</source>
        <translation>计划(&amp;N)</translation>
    </message>
    <message>
        <source>Cloc&amp;k</source>
        <translation>时钟(&amp;K)</translation>
    </message>
    <message>
        <source>a training by the engine in Fourwalls</source>
        <translation>Fourwalls 自带引擎的训练</translation>
    </message>
    <message>
        <source>a program of my own (CUDA)</source>
        <translation>我自己的程序（CUDA）</translation>
    </message>
    <message>
        <source>processor</source>
        <translation>处理器</translation>
    </message>
    <message>
        <source>threads of one process</source>
        <translation>同一进程的线程</translation>
    </message>
    <message>
        <source>Gloo, a process each</source>
        <translation>Gloo，各为一个进程</translation>
    </message>
    <message>
        <source>NCCL between GPUs</source>
        <translation>GPU 之间用 NCCL</translation>
    </message>
    <message>
        <source>all; or a few, such as 10-13</source>
        <translation>全部；或其中几步，例如 10-13</translation>
    </message>
    <message>
        <source>where Fourwalls was started</source>
        <translation>启动 Fourwalls 的文件夹</translation>
    </message>
    <message>
        <source>What to record</source>
        <translation>录制什么</translation>
    </message>
    <message>
        <source>Device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>Transport</source>
        <translation>传输方式</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Steps to record</source>
        <translation>要录制的步</translation>
    </message>
    <message>
        <source>Folder</source>
        <translation>文件夹</translation>
    </message>
    <message>
        <source>&amp;What</source>
        <translation>录制(&amp;W)</translation>
    </message>
    <message>
        <source>&amp;Command</source>
        <translation>命令(&amp;C)</translation>
    </message>
    <message>
        <source>Steps to &amp;record</source>
        <translation>要录制的步(&amp;R)</translation>
    </message>
    <message>
        <source>&amp;Folder</source>
        <translation>文件夹(&amp;F)</translation>
    </message>
    <message>
        <source>The folder that the program runs in</source>
        <translation>程序运行所在的文件夹</translation>
    </message>
    <message>
        <source>De&amp;vice</source>
        <translation>设备(&amp;V)</translation>
    </message>
    <message>
        <source>&amp;Transport</source>
        <translation>传输(&amp;T)</translation>
    </message>
    <message>
        <source>A job that runs already cannot be attached to: what records is loaded when a program starts. To record a job later, write FOURWALLS_CAPTURE=signal before its command; kill -USR2 of its processes then begins and ends the recording.</source>
        <translation>无法附加到已在运行的作业：录制部件在程序启动时加载。若要稍后录制，请在命令前写上 FOURWALLS_CAPTURE=signal；之后对其进程执行 kill -USR2 即可开始和结束录制。</translation>
    </message>
</context>
<context>
    <name>RecordWords</name>
    <message>
        <source>Name a file to save to.</source>
        <translation>请给出要保存的文件名。</translation>
    </message>
    <message>
        <source>Name a model.</source>
        <translation>请给出模型。</translation>
    </message>
    <message>
        <source>The learning rate must be above 0.</source>
        <translation>学习率必须大于 0。</translation>
    </message>
    <message>
        <source>NCCL is for GPUs: choose CUDA, or another transport.</source>
        <translation>NCCL 只用于 GPU：请选择 CUDA，或换一种传输方式。</translation>
    </message>
    <message>
        <source>Steps to record are written as 10-13.</source>
        <translation>要录制的步写成 10-13 这样。</translation>
    </message>
    <message>
        <source>A quote in the command is not closed.</source>
        <translation>命令中有未闭合的引号。</translation>
    </message>
    <message>
        <source>Type the command that starts your program.</source>
        <translation>请输入启动程序的命令。</translation>
    </message>
    <message>
        <source>Pipes and redirections need a shell: sh -c &apos;…&apos;.</source>
        <translation>管道和重定向需要 shell：sh -c &apos;…&apos;。</translation>
    </message>
</context>
<context>
    <name>RecordingAdvice</name>
    <message>
        <source>steps</source>
        <translation>步</translation>
    </message>
    <message>
        <source>FLOPs</source>
        <translation>FLOPs</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>For steps and kernels, profile the same run: %1</source>
        <translation>要看步与内核，请对同一次运行做性能记录：%1</translation>
    </message>
    <message>
        <source>FLOPs, of a PyTorch program: %1</source>
        <translation>FLOPs（PyTorch 程序）：%1</translation>
    </message>
    <message>
        <source>To record what is missing: %1</source>
        <translation>要补录缺少的内容：%1</translation>
    </message>
    <message>
        <source>Call the profiler&apos;s step() after every iteration: %1</source>
        <translation>请在每次迭代之后调用 profiler 的 step()：%1</translation>
    </message>
    <message>
        <source>Put a range round every iteration: %1</source>
        <translation>请用一个范围包住每次迭代：%1</translation>
    </message>
    <message>
        <source>A memory snapshot has none: open the profile of the same run beside it.</source>
        <translation>内存快照没有步：请同时打开同一次运行的性能记录。</translation>
    </message>
    <message>
        <source>Traces that Fourwalls records mark them.</source>
        <translation>Fourwalls 录制的轨迹会标出步。</translation>
    </message>
    <message>
        <source>Record the program with its steps: %1</source>
        <translation>请连同步一起录制程序：%1</translation>
    </message>
    <message>
        <source>device work</source>
        <translation>设备工作</translation>
    </message>
    <message>
        <source>No profile of JAX has: %1</source>
        <translation>JAX 的剖析文件都不含：%1</translation>
    </message>
</context>
<context>
    <name>ReplayCard</name>
    <message>
        <source>from %1 to %2</source>
        <translation>从 %1 到 %2</translation>
    </message>
    <message>
        <source>This step, run again</source>
        <translation>重放这一步</translation>
    </message>
    <message>
        <source>It cannot be: %1.</source>
        <translation>无法重放：%1。</translation>
    </message>
    <message>
        <source>Unchanged, this replay is %1 off.</source>
        <translation>不作改动时，重放偏差 %1。</translation>
    </message>
    <message>
        <source>None of the usual changes makes it shorter.</source>
        <translation>常见的改动都不会使它更短。</translation>
    </message>
    <message>
        <source>replayed</source>
        <translation>重放</translation>
    </message>
    <message>
        <source>changed</source>
        <translation>改动后</translation>
    </message>
    <message>
        <source>As recorded</source>
        <translation>恢复录制值</translation>
    </message>
    <message>
        <source>Take all changes of the replay back</source>
        <translation>撤回重放的全部改动</translation>
    </message>
    <message>
        <source>Save as trace</source>
        <translation>存为轨迹</translation>
    </message>
    <message>
        <source>The changed step as a trace file: opened, compared and exported like any other</source>
        <translation>改动后的一步作为轨迹文件：可像其他轨迹一样打开、比较和导出</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>复制</translation>
    </message>
    <message>
        <source>The command line that says the same</source>
        <translation>等价的命令行</translation>
    </message>
    <message>
        <source>…</source>
        <translation>…</translation>
    </message>
    <message>
        <source>Together %1 (%2 to %3)</source>
        <translation>合计 %1（%2 至 %3）</translation>
    </message>
    <message>
        <source>step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>peak memory</source>
        <translation>峰值内存</translation>
    </message>
    <message>
        <source>%1 of the changed step measured, %2 scaled, %3 modelled.</source>
        <translation>改动后的一步中 %1 为测得，%2 为缩放，%3 为建模。</translation>
    </message>
    <message>
        <source>Without any delay between what waits for each other it is %1 off. Recorded times that contradict it: %2. Long delays that the step did not wait for: %3.</source>
        <translation>若互相等待的工作之间没有任何延迟，偏差为 %1。与之矛盾的录制时间：%2。这一步没有等待的长延迟：%3。</translation>
    </message>
    <message>
        <source>Drawn in the views</source>
        <translation>画在视图中</translation>
    </message>
    <message>
        <source>The changed step beside what was recorded, in every view; else the prediction is</source>
        <translation>在每个视图中把改动后的一步画在录制旁；否则画预测</translation>
    </message>
    <message>
        <source>It is not drawn: %1</source>
        <translation>没有画出：%1</translation>
    </message>
</context>
<context>
    <name>ReplayControls</name>
    <message>
        <source>Trouble removed</source>
        <translation>排除的麻烦</translation>
    </message>
    <message>
        <source>none</source>
        <translation>无</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>Launches as one graph</source>
        <translation>启动合为一张图</translation>
    </message>
    <message>
        <source>Reading: %1</source>
        <translation>读取：%1</translation>
    </message>
    <message>
        <source>Links</source>
        <translation>链路</translation>
    </message>
    <message>
        <source>Links of %1</source>
        <translation>%1 的链路</translation>
    </message>
    <message>
        <source>Hidden: %1</source>
        <translation>隐藏：%1</translation>
    </message>
    <message>
        <source>Kernels take</source>
        <translation>内核所用时间</translation>
    </message>
    <message>
        <source>Of the step, for this change alone</source>
        <translation>仅此一项改动，占该步的比例</translation>
    </message>
    <message>
        <source>How many times as fast the links of this group are, beyond their latency</source>
        <translation>除延迟外，该组链路快多少倍</translation>
    </message>
    <message>
        <source>The share of its time that is left</source>
        <translation>剩余时间的比例</translation>
    </message>
    <message>
        <source>Of the step, with links twice as fast</source>
        <translation>链路快一倍时，占该步的比例</translation>
    </message>
    <message>
        <source>Of the step, with half of that time</source>
        <translation>该时间减半时，占该步的比例</translation>
    </message>
    <message>
        <source>Of the step, for the one that gains most</source>
        <translation>收益最大的一项，占该步的比例</translation>
    </message>
    <message>
        <source>another kernel: a part of its name</source>
        <translation>另一个内核：名称的一部分</translation>
    </message>
    <message>
        <source>Order of the passes</source>
        <translation>各遍的次序</translation>
    </message>
    <message>
        <source>recorded: %1</source>
        <translation>与录制相同：%1</translation>
    </message>
    <message>
        <source>Schedule</source>
        <translation>调度</translation>
    </message>
    <message>
        <source>Micro-batches</source>
        <translation>微批次数</translation>
    </message>
    <message>
        <source>They keep their size, so the batch changes with their number</source>
        <translation>大小不变，因此批量随其个数而变</translation>
    </message>
    <message>
        <source>Chunks per stage</source>
        <translation>每级块数</translation>
    </message>
    <message>
        <source>Virtual stages per rank, which take equal times</source>
        <translation>每个 rank 的虚拟级，用时相等</translation>
    </message>
    <message>
        <source>Plan (scaled by the cost model)</source>
        <translation>方案（由成本模型缩放）</translation>
    </message>
    <message>
        <source>Data parallel</source>
        <translation>数据并行</translation>
    </message>
    <message>
        <source>Tensor parallel</source>
        <translation>张量并行</translation>
    </message>
    <message>
        <source>Pipeline stages</source>
        <translation>流水级数</translation>
    </message>
    <message>
        <source>Global batch</source>
        <translation>全局批量</translation>
    </message>
    <message>
        <source>All ranks like their mean</source>
        <translation>所有 rank 用平均时间</translation>
    </message>
    <message>
        <source>Like the mean</source>
        <translation>用平均时间的 rank</translation>
    </message>
    <message>
        <source>Work of the program</source>
        <translation>程序自身的工作</translation>
    </message>
    <message>
        <source>stage %1</source>
        <translation>流水级 %1</translation>
    </message>
    <message>
        <source>Stage like the mean</source>
        <translation>流水级用平均时间</translation>
    </message>
    <message>
        <source>The recorded step times what the cost model says of the changed step against the recorded one, as one factor</source>
        <translation>录制的一步整体乘以一个系数：成本模型所得的改动后一步与录制一步之比</translation>
    </message>
    <message>
        <source>as recorded</source>
        <translation>与录制一致</translation>
    </message>
    <message>
        <source>Machines</source>
        <translation>机器</translation>
    </message>
</context>
<context>
    <name>ReplaySentences</name>
    <message>
        <source>the recorded schedule is %1</source>
        <translation>录制的调度是 %1</translation>
    </message>
    <message>
        <source>gradients of inputs and of weights take half of a backward pass each</source>
        <translation>输入的梯度和权重的梯度各占反向的一半</translation>
    </message>
    <message>
        <source>the chunks of a stage take equal times</source>
        <translation>一级的各个分块耗时相同</translation>
    </message>
    <message>
        <source>micro-batches keep their size, so the batch changes with their number</source>
        <translation>微批次的大小不变，因此批次随其数量而变</translation>
    </message>
    <message>
        <source>a step takes at least as long as its busiest stream works (%1 in one of them): what else it would wait for is not in the trace</source>
        <translation>一步至少与其最忙的流的工作一样长（其中一步为 %1）：它还要等待什么，轨迹中没有</translation>
    </message>
    <message>
        <source>left out, as ranks or members of operations are missing in them: steps %1</source>
        <translation>因缺少 rank 或通信操作的成员而略去的步：%1</translation>
    </message>
    <message>
        <source>a device stood still %1 times for over 0.2 ms although work was queued: kept as recorded</source>
        <translation>有排队的工作时，设备仍有 %1 次停顿超过 0.2 ms：保持录制的样子</translation>
    </message>
    <message>
        <source>%1 launches met a full queue and waited %2 for their device: no work of the program</source>
        <translation>%1 次启动遇到已满的队列，为设备等待了 %2：这不是程序的工作</translation>
    </message>
    <message>
        <source>the trace has %1 of %2 ranks: of what an operation took, the shortest of its kind and size stands for moving, an estimate, and the rest for waiting, which stays as recorded</source>
        <translation>轨迹中有 %2 个 rank 中的 %1 个：操作的耗时中，同类同大小里最短的一次算作传输（估计值），其余算作等待，保持录制的样子</translation>
    </message>
    <message>
        <source>%1 ranks took turns on %2 cores: what they waited for their cores counts as work and as moving</source>
        <translation>%1 个 rank 轮流使用 %2 个核：等待核的时间算作工作和传输</translation>
    </message>
    <message>
        <source>unchanged this replay is %1 off, and the recording does not say how many cores its %2 ranks had: they may have taken turns</source>
        <translation>不作改动时，此重放相差 %1，而录制没有说明其 %2 个 rank 有多少个核：它们可能轮流使用</translation>
    </message>
    <message>
        <source>most delays are the only ones of their class, so that an unchanged replay agrees says nothing: record more steps, or more ranks</source>
        <translation>大多数延迟是各自类别中唯一的，因此不作改动的重放与录制一致并不说明什么：请录制更多的步或更多的 rank</translation>
    </message>
    <message>
        <source>what the other changes do to the recorded step they do to the changed one, too</source>
        <translation>其他改动对录制的一步的作用，对改动后的一步同样成立</translation>
    </message>
    <message>
        <source>transfers that &apos;%1&apos; names keep their time: link:GROUP*F changes them</source>
        <translation>“%1”所指的传输保持其时间：link:GROUP*F 可以改变它们</translation>
    </message>
    <message>
        <source>the whole step can be captured: the program decides nothing by values that the device computes</source>
        <translation>整个一步可以被捕获：程序不根据设备算出的值作任何决定</translation>
    </message>
    <message>
        <source>latency 0 of %1 in group %2: the trace has it with one payload or unknown ones</source>
        <translation>组 %2 中 %1 的延迟取 0：轨迹中它只有一种数据量，或数据量未知</translation>
    </message>
    <message>
        <source>all work changes by what the cost model says of the whole step: times %1</source>
        <translation>全部工作按代价模型对整步的说法改变：乘以 %1</translation>
    </message>
    <message>
        <source>%1 of it is operators of recorded shapes, at the times that they took there; other shapes take the rates of the recorded ones near them</source>
        <translation>其中 %1 是录制过的形状的算子，取其在录制中的时间；其他形状取相近的录制形状的速率</translation>
    </message>
    <message>
        <source>the band is at least the largest error of such answers whose plan was recorded as well: %1</source>
        <translation>区间至少是此类答案中其计划也被录制过的那些的最大误差：%1</translation>
    </message>
    <message>
        <source>the ranks stay on cores as recorded: of the cluster only its links and hosts count</source>
        <translation>各 rank 仍在录制时的核上：集群中只有链路和主机起作用</translation>
    </message>
    <message>
        <source>no answer for another cluster was held against a recording yet</source>
        <translation>对另一集群的答案还没有与录制对照过</translation>
    </message>
    <message>
        <source>it does not fit: %1</source>
        <translation>放不下：%1</translation>
    </message>
</context>
<context>
    <name>RooflineCard</name>
    <message>
        <source>Roofline</source>
        <translation>屋顶线</translation>
    </message>
    <message>
        <source>Operators by arithmetic intensity and achieved rate</source>
        <translation>按算术强度与达到速率的算子</translation>
    </message>
    <message>
        <source>Operators without FLOPs, by bytes per second</source>
        <translation>没有 FLOPs 的算子，按每秒字节</translation>
    </message>
    <message>
        <source>Operators whose bytes are not known, by FLOP/s</source>
        <translation>字节未知的算子，按 FLOP/s</translation>
    </message>
    <message>
        <source>No operator of this trace says how much it computes.</source>
        <translation>此轨迹中没有算子说明其计算量。</translation>
    </message>
    <message>
        <source>memory %1</source>
        <translation>内存 %1</translation>
    </message>
    <message>
        <source>data sheet</source>
        <translation>数据手册</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>实测</translation>
    </message>
    <message>
        <source>peak %1, %2</source>
        <translation>峰值 %1，%2</translation>
    </message>
    <message>
        <source>%1: not the roof of all that ran</source>
        <translation>%1：并非所有已运行算子的上限</translation>
    </message>
    <message>
        <source>arithmetic intensity [FLOP/byte]</source>
        <translation>算术强度 [FLOP/字节]</translation>
    </message>
    <message>
        <source>achieved [FLOP/s]</source>
        <translation>实际达到 [FLOP/s]</translation>
    </message>
    <message>
        <source>without FLOPs, by time</source>
        <translation>无 FLOPs，按时间</translation>
    </message>
    <message>
        <source>bytes not known, by time</source>
        <translation>字节未知，按时间</translation>
    </message>
    <message>
        <source>memory [B/s]</source>
        <translation>内存 [B/s]</translation>
    </message>
    <message>
        <source>the device&apos;s roofs</source>
        <translation>设备的屋顶</translation>
    </message>
    <message>
        <source>the %1 longest of %2</source>
        <translation>%2 个中最长的 %1 个</translation>
    </message>
    <message>
        <source>not shown: %1 of the time, in operators without FLOPs and bytes</source>
        <translation>未显示：%1 的时间，其算子既无 FLOPs 也无字节</translation>
    </message>
    <message>
        <source> · layer %1</source>
        <translation> · 第 %1 层</translation>
    </message>
    <message>
        <source>
%1, bytes not known</source>
        <translation>
%1，字节未知</translation>
    </message>
    <message>
        <source>
%1, no FLOPs</source>
        <translation>
%1，无 FLOPs</translation>
    </message>
    <message>
        <source>, %1 of the memory&apos;s rate</source>
        <translation>，为内存速率的 %1</translation>
    </message>
    <message>
        <source>
%1 at %2 FLOP/byte</source>
        <translation>
%2 FLOP/字节时 %1</translation>
    </message>
    <message>
        <source>, %1 of what its roof allows</source>
        <translation>，为屋顶允许值的 %1</translation>
    </message>
    <message>
        <source>: its data came from a cache</source>
        <translation>：其数据来自缓存</translation>
    </message>
    <message>
        <source>
%1 × %2, %3 of all compute time</source>
        <translation>
%1 × %2，占全部计算时间 %3</translation>
    </message>
    <message>
        <source>the device&apos;s peak is not known, so neither is what is possible</source>
        <translation>设备峰值未知，因此可达上限也未知</translation>
    </message>
    <message>
        <source>%1 of the time under the memory roof, %2 under the compute roof</source>
        <translation>%1 的时间在内存屋顶下，%2 在计算屋顶下</translation>
    </message>
    <message>
        <source> · above the memory roof: data from a cache</source>
        <translation> · 内存屋顶之上：数据来自缓存</translation>
    </message>
    <message>
        <source>some operators run above the peak: it is not theirs, and no roof of them</source>
        <translation>有算子超过峰值：该峰值不是它们的，不能作为屋顶</translation>
    </message>
    <message>
        <source>Operators of this trace say how much they compute, but no kernel is known to be theirs.</source>
        <translation>此轨迹的算子说明了计算量，但不知道哪些内核属于它们。</translation>
    </message>
    <message>
        <source>No device&apos;s work is in this trace: an operator&apos;s time is that of launching it, which is no rate.</source>
        <translation>此轨迹中没有设备的工作：算子的时间只是启动它的时间，不能算作速率。</translation>
    </message>
    <message>
        <source>above the memory roof: from a cache</source>
        <translation>高于内存屋顶：来自缓存</translation>
    </message>
</context>
<context>
    <name>RowActions</name>
    <message>
        <source>Filter rows</source>
        <translation>筛选行</translation>
    </message>
    <message>
        <source>Rows by stream instead of by rank</source>
        <translation>按流而非按 rank 排列行</translation>
    </message>
    <message>
        <source>Higher rows</source>
        <translation>行更高</translation>
    </message>
    <message>
        <source>Lower rows</source>
        <translation>行更低</translation>
    </message>
    <message>
        <source>More room for the names of rows</source>
        <translation>行名栏更宽</translation>
    </message>
    <message>
        <source>Less room for the names of rows</source>
        <translation>行名栏更窄</translation>
    </message>
    <message>
        <source>Colour by what the time was for</source>
        <translation>按时间用途着色</translation>
    </message>
    <message>
        <source>Colour by phase</source>
        <translation>按阶段着色</translation>
    </message>
    <message>
        <source>Colour by kind</source>
        <translation>按类别着色</translation>
    </message>
    <message>
        <source>Colour by name</source>
        <translation>按名称着色</translation>
    </message>
    <message>
        <source>Colour by stream</source>
        <translation>按流着色</translation>
    </message>
    <message>
        <source>The whole trace above the rows</source>
        <translation>行上方的整条轨迹</translation>
    </message>
    <message>
        <source>Colour by layer or module</source>
        <translation>按层或模块着色</translation>
    </message>
    <message>
        <source>Move the row of the selected slice up</source>
        <translation>上移所选切片的行</translation>
    </message>
    <message>
        <source>Move the row of the selected slice down</source>
        <translation>下移所选切片的行</translation>
    </message>
    <message>
        <source>Make the row of the selected slice higher</source>
        <translation>增高所选切片的行</translation>
    </message>
    <message>
        <source>Make the row of the selected slice lower</source>
        <translation>降低所选切片的行</translation>
    </message>
    <message>
        <source>Usual order and heights of rows</source>
        <translation>行的通常顺序与高度</translation>
    </message>
    <message>
        <source>Pin or unpin the selected slice&apos;s track</source>
        <translation>固定或取消固定所选切片的轨道</translation>
    </message>
</context>
<context>
    <name>RunCoordinateWords</name>
    <message>
        <source>learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <source>batch</source>
        <translation>批次</translation>
    </message>
    <message>
        <source>width</source>
        <translation>宽度</translation>
    </message>
    <message>
        <source>warm-up</source>
        <translation>预热</translation>
    </message>
    <message>
        <source>weight decay</source>
        <translation>权重衰减</translation>
    </message>
    <message>
        <source>clipping</source>
        <translation>裁剪</translation>
    </message>
    <message>
        <source>final loss</source>
        <translation>最终损失</translation>
    </message>
</context>
<context>
    <name>RunFilesDialog</name>
    <message>
        <source>Looking at the files…</source>
        <translation>正在查看文件…</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>导入</translation>
    </message>
    <message>
        <source>Files of %1</source>
        <translation>%1 中的文件</translation>
    </message>
    <message>
        <source>Files that become one run</source>
        <translation>合为一次运行的文件</translation>
    </message>
    <message>
        <source>Rank</source>
        <translation>Rank</translation>
    </message>
    <message>
        <source>File</source>
        <translation>文件</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>格式</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>大小</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) become one run.</source>
        <translation>
            <numerusform>%n 个文件合为一次运行。</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n other(s) are no profiles and are left alone.</source>
        <translation>
            <numerusform>另外 %n 个文件不是性能剖析文件，不予读取。</numerusform>
        </translation>
    </message>
    <message>
        <source>told by the import</source>
        <translation>由导入得知</translation>
    </message>
    <message numerus="yes">
        <source>%n profile(s) cannot be read.</source>
        <translation>
            <numerusform>%n 个性能剖析文件无法读取。</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>RunPlots</name>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>width %1</source>
        <translation>宽度 %1</translation>
    </message>
</context>
<context>
    <name>RunTable</name>
    <message>
        <source>Double click: tags, separated by commas</source>
        <translation>双击：标签，以逗号分隔</translation>
    </message>
    <message>
        <source>run</source>
        <translation>运行</translation>
    </message>
    <message>
        <source>model</source>
        <translation>模型</translation>
    </message>
    <message>
        <source>learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <source>batch</source>
        <translation>批次</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>步数</translation>
    </message>
    <message>
        <source>final loss</source>
        <translation>最终损失</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>plan</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>tags</source>
        <translation>标签</translation>
    </message>
    <message>
        <source>Mean of the last tenth of the steps</source>
        <translation>最后十分之一的步的平均值</translation>
    </message>
</context>
<context>
    <name>RunsPage</name>
    <message>
        <source>learning rate %1: loss %2</source>
        <translation>学习率 %1：损失 %2</translation>
    </message>
    <message>
        <source>step %1: loss %2 after %3</source>
        <translation>第 %1 步：损失 %2，此前为 %3</translation>
    </message>
    <message>
        <source>step %1: the loss is no number</source>
        <translation>第 %1 步：损失不是数</translation>
    </message>
    <message>
        <source>gradient norm %1 times the usual</source>
        <translation>梯度范数为平常的 %1 倍</translation>
    </message>
    <message>
        <source>The trace has no event there.</source>
        <translation>轨迹在那里没有事件。</translation>
    </message>
    <message numerus="yes">
        <source>%n run(s)</source>
        <translation>
            <numerusform>%n 次运行</numerusform>
        </translation>
    </message>
    <message>
        <source>best loss %1</source>
        <translation>最佳损失 %1</translation>
    </message>
    <message numerus="yes">
        <source>%n diverged</source>
        <translation>
            <numerusform>%n 次发散</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n file(s) left out</source>
        <translation>
            <numerusform>略过 %n 个文件</numerusform>
        </translation>
    </message>
    <message>
        <source>best: %1, at the edge of what was tried</source>
        <translation>最佳：%1，在所试范围的边缘</translation>
    </message>
    <message>
        <source>best: %1</source>
        <translation>最佳：%1</translation>
    </message>
    <message>
        <source>the best rate is %1 at all widths</source>
        <translation>所有宽度上的最佳学习率都是 %1</translation>
    </message>
    <message>
        <source>the best rate stays within one step of the grid: %1 to %2</source>
        <translation>最佳学习率的变化不超过网格的一格：%1 到 %2</translation>
    </message>
    <message>
        <source>best rate: %1 at width %2, %3 at width %4</source>
        <translation>最佳学习率从宽度 %2 的 %1 变为宽度 %4 的 %3</translation>
    </message>
    <message>
        <source>This folder could not be read</source>
        <translation>无法读取此文件夹</translation>
    </message>
    <message>
        <source>Reading %1…</source>
        <translation>正在读取 %1…</translation>
    </message>
    <message>
        <source>%1 holds no trainings</source>
        <translation>%1 中没有训练</translation>
    </message>
    <message>
        <source>Many trainings beside each other</source>
        <translation>许多次训练并排</translation>
    </message>
    <message>
        <source>Open a folder with recordings, with what fourwalls-cli sweep made, or with the logs of other frameworks (TensorBoard event files, text): their losses, gradient norms and learning rates are drawn together, and spikes are marked with what happened.</source>
        <translation>打开一个文件夹，其中有录制、fourwalls-cli sweep 的结果，或其他框架的日志（TensorBoard 事件文件、文本）：它们的损失、梯度范数和学习率画在一起，尖峰处标明发生了什么。</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>损失</translation>
    </message>
    <message numerus="yes">
        <source>%n spike(s)</source>
        <translation>
            <numerusform>%n 个尖峰</numerusform>
        </translation>
    </message>
    <message>
        <source>None of the runs says it.</source>
        <translation>没有一次运行提供它。</translation>
    </message>
    <message>
        <source>width %1</source>
        <translation>宽度 %1</translation>
    </message>
    <message>
        <source>learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <source>final loss</source>
        <translation>最终损失</translation>
    </message>
    <message>
        <source>Open a folder of runs…</source>
        <translation>打开训练运行的文件夹…</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>训练运行</translation>
    </message>
    <message>
        <source>Loss</source>
        <translation>损失</translation>
    </message>
    <message>
        <source>Loss by learning rate</source>
        <translation>损失与学习率</translation>
    </message>
    <message>
        <source>Find: words of name, model, plan or tags</source>
        <translation>查找：名称、模型、计划或标签中的词</translation>
    </message>
    <message>
        <source>Find runs</source>
        <translation>查找运行</translation>
    </message>
    <message>
        <source>Catalogue of runs</source>
        <translation>运行目录</translation>
    </message>
    <message>
        <source>Smoothing: how much of what came before</source>
        <translation>平滑：保留多少之前的值</translation>
    </message>
    <message>
        <source>Smoothing</source>
        <translation>平滑</translation>
    </message>
    <message>
        <source>Axis of the curves</source>
        <translation>曲线的坐标轴</translation>
    </message>
    <message>
        <source>Figure of the second plot</source>
        <translation>第二个图的指标</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>步数</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>token 数</translation>
    </message>
    <message>
        <source>hours</source>
        <translation>小时</translation>
    </message>
    <message>
        <source>gradient norm</source>
        <translation>梯度范数</translation>
    </message>
    <message>
        <source>tokens per second</source>
        <translation>每秒 token 数</translation>
    </message>
    <message>
        <source>loss scale</source>
        <translation>损失缩放</translation>
    </message>
    <message>
        <source>Settings and loss</source>
        <translation>设置与损失</translation>
    </message>
    <message>
        <source>goodput</source>
        <translation>有效率</translation>
    </message>
</context>
<context>
    <name>Samples</name>
    <message>
        <source>A small GPT learns to write</source>
        <translation>小型 GPT 学习写作</translation>
    </message>
    <message>
        <source>gpt-tiny, 20 steps: forward, backward, optimizer</source>
        <translation>gpt-tiny，20 步：前向、反向、优化器</translation>
    </message>
    <message>
        <source>A small LLaMA</source>
        <translation>小型 LLaMA</translation>
    </message>
    <message>
        <source>llama-tiny, 10 steps: rotary positions, SwiGLU</source>
        <translation>llama-tiny，10 步：旋转位置编码、SwiGLU</translation>
    </message>
    <message>
        <source>The classic memory curve</source>
        <translation>经典的内存曲线</translation>
    </message>
    <message>
        <source>ResNet-50, batch 4, 2 steps: climb, peak, release</source>
        <translation>ResNet-50，批大小 4，2 步：上升、峰值、释放</translation>
    </message>
    <message>
        <source>A million slices on 8 ranks</source>
        <translation>8 个 rank 上的一百万个切片</translation>
    </message>
    <message>
        <source>Synthetic: invented times, for trying how quick the views are</source>
        <translation>合成数据：时间是虚构的，用于体验视图的速度</translation>
    </message>
</context>
<context>
    <name>ScalingPage</name>
    <message>
        <source>Scaling efficiency</source>
        <translation>扩展效率</translation>
    </message>
    <message>
        <source>Use of the link</source>
        <translation>链路利用</translation>
    </message>
    <message>
        <source>What one step sends</source>
        <translation>一步发送的内容</translation>
    </message>
    <message>
        <source>Scaling efficiency over devices</source>
        <translation>扩展效率随设备数变化</translation>
    </message>
    <message>
        <source>Utilisation over link speed</source>
        <translation>利用率随链路速度变化</translation>
    </message>
    <message>
        <source>Bytes by algorithm</source>
        <translation>按算法的字节数</translation>
    </message>
    <message>
        <source>The trace does not say what was trained and on what: fill it in under What if.</source>
        <translation>轨迹未说明训练了什么、在什么设备上：请在“假设”中补全。</translation>
    </message>
    <message>
        <source>T_n = n · T_1</source>
        <translation>T_n = n · T_1</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1，%2</translation>
    </message>
    <message>
        <source>%1 devices: %2 efficiency
step %3, %4 samples/s</source>
        <translation>%1 个设备：效率 %2
一步 %3，%4 样本/s</translation>
    </message>
    <message>
        <source>devices, each with the same share of the batch</source>
        <translation>设备数，每个设备的批量份额相同</translation>
    </message>
    <message>
        <source>T_n / (n T_1)</source>
        <translation>T_n / (n T_1)</translation>
    </message>
    <message>
        <source>%1 at %2 devices, %3 at %4 (cost model)</source>
        <translation>%2 个设备时 %1，%4 个时 %3（成本模型）</translation>
    </message>
    <message>
        <source> · part of the specification is guessed</source>
        <translation> · 部分说明为猜测</translation>
    </message>
    <message>
        <source>One device sends nothing.</source>
        <translation>单设备不发送任何数据。</translation>
    </message>
    <message>
        <source>speed of the step, of what it could be</source>
        <translation>一步的速度，占可能值</translation>
    </message>
    <message>
        <source>utilisation</source>
        <translation>利用率</translation>
    </message>
    <message>
        <source>all that the link carries</source>
        <translation>链路的全部能力</translation>
    </message>
    <message>
        <source>%1: %2 at %3</source>
        <translation>%1：%3 时 %2</translation>
    </message>
    <message>
        <source>every link at %1: step %2, the busiest rank uses %3 of it</source>
        <translation>所有链路为 %1：一步 %2，最忙的 rank 使用其中 %3</translation>
    </message>
    <message>
        <source>speed of every link [b/s]</source>
        <translation>每条链路的速度 [b/s]</translation>
    </message>
    <message>
        <source>bytes sent / (step time × link)</source>
        <translation>发送字节 / (步时间 × 链路)</translation>
    </message>
    <message>
        <source>a faster network is used less well: %1 at %2, %3 at %4</source>
        <translation>网络越快利用率越低：%2 时 %1，%4 时 %3</translation>
    </message>
    <message>
        <source>group</source>
        <translation>组</translation>
    </message>
    <message>
        <source>ranks</source>
        <translation>rank 数</translation>
    </message>
    <message>
        <source>Members of one group</source>
        <translation>单个组的成员数</translation>
    </message>
    <message>
        <source>operations</source>
        <translation>操作数</translation>
    </message>
    <message>
        <source>buffers</source>
        <translation>缓冲区</translation>
    </message>
    <message>
        <source>Payload of all operations</source>
        <translation>所有操作的载荷</translation>
    </message>
    <message>
        <source>published formula</source>
        <translation>公开的公式</translation>
    </message>
    <message>
        <source>As articles count it, everybody sends everything to everybody, 2 bytes per number; hover for the formula</source>
        <translation>按文章的算法：每个成员向所有成员发送全部数据，每个数 2 字节；悬停查看公式</translation>
    </message>
    <message>
        <source>naive broadcast</source>
        <translation>朴素广播</translation>
    </message>
    <message>
        <source>n(n−1) times each of the step&apos;s buffers</source>
        <translation>该步每个缓冲区的 n(n−1) 倍</translation>
    </message>
    <message>
        <source>ring</source>
        <translation>环形</translation>
    </message>
    <message>
        <source>2(n−1) times each all-reduce&apos;s buffer, n−1 times each gather&apos;s or scatter&apos;s</source>
        <translation>每个 all-reduce 缓冲区的 2(n−1) 倍，每个 gather 或 scatter 的 n−1 倍</translation>
    </message>
    <message>
        <source>tree</source>
        <translation>树形</translation>
    </message>
    <message>
        <source>2(n−1) times each all-reduce&apos;s buffer, fewer rounds</source>
        <translation>每个 all-reduce 缓冲区的 2(n−1) 倍，轮数更少</translation>
    </message>
    <message>
        <source>hierarchical</source>
        <translation>分层</translation>
    </message>
    <message>
        <source>Inside nodes, then between them; only where groups span nodes</source>
        <translation>先节点内，再节点间；仅当组跨节点时</translation>
    </message>
    <message>
        <source>sent</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>What all ranks together sent (predictions: would send)</source>
        <translation>所有 rank 共发送的量（预测则为将发送的量）</translation>
    </message>
    <message>
        <source>sent / naive</source>
        <translation>发送 / 朴素</translation>
    </message>
    <message>
        <source>Of all groups of that name, in %1</source>
        <translation>该名称的所有组，%1中</translation>
    </message>
    <message>
        <source>%1 sent in %3; sending everything to everybody would be %2</source>
        <translation>%3中发送了 %1；全部发给所有人则为 %2</translation>
    </message>
    <message>
        <source>does not fit into the memory of a device</source>
        <translation>设备内存放不下</translation>
    </message>
    <message>
        <source> · ○ fits into no device&apos;s memory</source>
        <translation> · ○ 任何设备的内存都放不下</translation>
    </message>
    <message>
        <source> · ○ fits into memory from %1 devices on</source>
        <translation> · ○ 从 %1 个设备起内存才放得下</translation>
    </message>
    <message>
        <source>%1 at %2 devices (cost model)</source>
        <translation>%2 个设备时 %1（成本模型）</translation>
    </message>
    <message>
        <source>%1 sent in a step, the mean of %3; sending everything to everybody would be %2</source>
        <translation>一步发送 %1（%3的平均）；全部发给所有人则为 %2</translation>
    </message>
</context>
<context>
    <name>ShareWords</name>
    <message>
        <source>Trace events, for Perfetto</source>
        <translation>跟踪事件，供 Perfetto 使用</translation>
    </message>
    <message>
        <source>One database of plain tables</source>
        <translation>一个普通表格的数据库</translation>
    </message>
    <message>
        <source>A folder of CSV tables</source>
        <translation>CSV 表格文件夹</translation>
    </message>
    <message>
        <source>A folder of Chakra execution traces</source>
        <translation>Chakra 执行轨迹文件夹</translation>
    </message>
    <message>
        <source>What ran, as a specification</source>
        <translation>所运行内容的规格</translation>
    </message>
    <message>
        <source>Trace</source>
        <translation>轨迹</translation>
    </message>
    <message>
        <source>Trace without names of hosts and files</source>
        <translation>不含主机名和文件名的轨迹</translation>
    </message>
    <message>
        <source>Cluster file</source>
        <translation>集群文件</translation>
    </message>
    <message>
        <source>Page with the view that is shown</source>
        <translation>网页，含当前视图</translation>
    </message>
    <message>
        <source>Page without it</source>
        <translation>网页，不含当前视图</translation>
    </message>
</context>
<context>
    <name>ShortcutEditor</name>
    <message>
        <source>Shortcuts</source>
        <translation>快捷键</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Shortcut</source>
        <translation>快捷键</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Default</source>
        <translation>默认</translation>
    </message>
    <message>
        <source>Default shortcut of %1</source>
        <translation>“%1”的默认快捷键</translation>
    </message>
    <message>
        <source>%1 is used by: %2</source>
        <translation>%1 被多个命令使用：%2</translation>
    </message>
</context>
<context>
    <name>SliceGains</name>
    <message>
        <source>cannot be said: %1</source>
        <translation>无法说明：%1</translation>
    </message>
    <message>
        <source>what would this gain</source>
        <translation>这能得到什么</translation>
    </message>
    <message>
        <source>how far to trust it</source>
        <translation>可信程度</translation>
    </message>
</context>
<context>
    <name>StatusStrip</name>
    <message>
        <source>1 rank for %1</source>
        <translation>1 个 rank 代表 %1 个</translation>
    </message>
    <message>
        <source>%1 ranks for %2</source>
        <translation>%1 个 rank 代表 %2 个</translation>
    </message>
    <message>
        <source>complete</source>
        <translation>完整</translation>
    </message>
    <message>
        <source>rank %1 ran out of memory</source>
        <translation>rank %1 内存不足</translation>
    </message>
    <message>
        <source>The recording was finished in order, the run was not.</source>
        <translation>录制正常结束，但运行因内存不足而中止。</translation>
    </message>
    <message>
        <source>recovered</source>
        <translation>已恢复</translation>
    </message>
    <message>
        <source>The recording was interrupted: what was written until then is shown.</source>
        <translation>录制被中断：显示中断前已写入的内容。</translation>
    </message>
    <message>
        <source>%1 slices</source>
        <translation>%1 个切片</translation>
    </message>
    <message numerus="yes">
        <source>%n rank(s)</source>
        <translation>
            <numerusform>%n 个 rank</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n step(s)</source>
        <translation>
            <numerusform>%n 步</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 allocations, %2 counter samples, %3 operators</source>
        <translation>%1 次分配，%2 个计数器样本，%3 个算子</translation>
    </message>
    <message>
        <source>dropped %1</source>
        <translation>丢弃 %1</translation>
    </message>
    <message>
        <source>repaired %1</source>
        <translation>修复 %1</translation>
    </message>
    <message>
        <source>skipped %1</source>
        <translation>跳过 %1</translation>
    </message>
    <message>
        <source>Accounted: cost of an event times events, and the writer, per step time.</source>
        <translation>核算值：单个事件的开销乘以事件数，加上写入线程，除以步时间。</translation>
    </message>
    <message>
        <source>Measured against untraced steps: %1</source>
        <translation>与不录制的步对比测得：%1</translation>
    </message>
    <message>
        <source>recorder overhead %1</source>
        <translation>录制开销 %1</translation>
    </message>
    <message>
        <source>compute: %1, communication: %2</source>
        <translation>计算：%1，通信：%2</translation>
    </message>
    <message>
        <source>opened in %1</source>
        <translation>打开用时 %1</translation>
    </message>
    <message>
        <source>frame %1</source>
        <translation>帧 %1</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>状态</translation>
    </message>
    <message>
        <source>1 slice</source>
        <translation>1 个切片</translation>
    </message>
    <message>
        <source>The recording was finished in order, and nothing of it was left out.</source>
        <translation>记录已正常结束，没有遗漏任何内容。</translation>
    </message>
    <message>
        <source>Not all that was recorded is here:</source>
        <translation>记录的内容并未全部包含在内：</translation>
    </message>
    <message>
        <source>not complete</source>
        <translation>不完整</translation>
    </message>
    <message>
        <source>The file ends before it says so: a cut copy, or a job that was killed.</source>
        <translation>文件提前结束：副本被截断，或任务被终止。</translation>
    </message>
    <message>
        <source>the file ends early: %1 events read</source>
        <translation>文件提前结束：已读取 %1 个事件</translation>
    </message>
    <message>
        <source>the file ends early</source>
        <translation>文件提前结束</translation>
    </message>
    <message>
        <source>clocks aligned within %1</source>
        <translation>时钟已对齐，误差 %1</translation>
    </message>
    <message>
        <source>How far the ends of common operations are apart between ranks, after the clocks were aligned (the median, of the worst rank).</source>
        <translation>时钟对齐后，各 rank 共同操作的结束时刻相差多少（最差 rank 的中位数）。</translation>
    </message>
    <message>
        <source>clocks not aligned</source>
        <translation>时钟未对齐</translation>
    </message>
    <message>
        <source>The ranks have too few operations in common: times of different ranks may be shifted against one another.</source>
        <translation>各 rank 的共同操作太少：不同 rank 的时间可能相互偏移。</translation>
    </message>
    <message>
        <source>no steps</source>
        <translation>无训练步</translation>
    </message>
    <message>
        <source>a slice</source>
        <translation>一个切片</translation>
    </message>
    <message>
        <source>selected: %1 · rank %2 · %3</source>
        <translation>已选：%1 · rank %2 · %3</translation>
    </message>
    <message>
        <source>%1: marked in every view that shows it</source>
        <translation>%1：在显示它的每个视图中标出</translation>
    </message>
</context>
<context>
    <name>StepPart</name>
    <message>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>exposed communication</source>
        <translation>暴露通信</translation>
    </message>
    <message>
        <source>exposed copies</source>
        <translation>暴露拷贝</translation>
    </message>
    <message>
        <source>bubble</source>
        <translation>气泡</translation>
    </message>
    <message>
        <source>idle</source>
        <translation>空闲</translation>
    </message>
</context>
<context>
    <name>StepPicker</name>
    <message>
        <source>All steps</source>
        <translation>所有训练步</translation>
    </message>
    <message>
        <source>Step %1 · %2</source>
        <translation>第 %1 步 · %2</translation>
    </message>
    <message>
        <source>Whole trace · %1</source>
        <translation>整个轨迹 · %1</translation>
    </message>
</context>
<context>
    <name>StepStates</name>
    <message>
        <source>one step</source>
        <translation>一步</translation>
    </message>
    <message>
        <source>%1 steps</source>
        <translation>%1 步</translation>
    </message>
    <message>
        <source>%1 %2</source>
        <translation>%1 步%2</translation>
    </message>
    <message>
        <source>%1 of %2 steps measured (%3)</source>
        <translation>%2 步中计入 %1 步（%3）</translation>
    </message>
    <message>
        <source>the recorder&apos;s own marks</source>
        <translation>记录器自己的标记</translation>
    </message>
    <message>
        <source>the whole trace</source>
        <translation>整个轨迹</translation>
    </message>
    <message>
        <source>the range %1</source>
        <translation>范围 %1</translation>
    </message>
    <message>
        <source>the kernel %1</source>
        <translation>内核 %1</translation>
    </message>
    <message>
        <source>kernels that repeat from %1 on</source>
        <translation>从 %1 起重复的内核</translation>
    </message>
    <message>
        <source>a period of %1</source>
        <translation>%1 的周期</translation>
    </message>
</context>
<context>
    <name>StepsDialog</name>
    <message>
        <source>Looking at what comes again…</source>
        <translation>正在查找重复出现的内容…</translation>
    </message>
    <message>
        <source>Use as steps</source>
        <translation>用作步</translation>
    </message>
    <message>
        <source>Steps of %1</source>
        <translation>%1 的步</translation>
    </message>
    <message>
        <source>A step is one pass of the loop. Choose what marks it; the choice is kept in the trace, and all figures of steps are computed again. You can choose again at any time.</source>
        <translation>一步是循环的一遍。请选择由什么标记；选择保存在轨迹中，所有关于步的数值会重新计算。可随时重新选择。</translation>
    </message>
    <message>
        <source>What comes again in the trace</source>
        <translation>轨迹中重复出现的内容</translation>
    </message>
    <message>
        <source>Step by</source>
        <translation>步的依据</translation>
    </message>
    <message>
        <source>Count</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>Median</source>
        <translation>中位数</translation>
    </message>
    <message>
        <source>Share of the trace</source>
        <translation>占轨迹的比例</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>取消</translation>
    </message>
    <message>
        <source>Now: %1, by %2</source>
        <translation>现在：%1，依据 %2</translation>
    </message>
    <message>
        <source>as the import finds them</source>
        <translation>由导入自动查找</translation>
    </message>
    <message>
        <source>the whole trace</source>
        <translation>整个轨迹</translation>
    </message>
</context>
<context>
    <name>StepsModel</name>
    <message>
        <source>samples/s</source>
        <translation>样本/s</translation>
    </message>
    <message>
        <source>step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>损失</translation>
    </message>
    <message>
        <source>learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <source>gradient norm</source>
        <translation>梯度范数</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>token/s</translation>
    </message>
    <message>
        <source>where the time went</source>
        <translation>时间去向</translation>
    </message>
    <message>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>comm.</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>copies</source>
        <translation>拷贝</translation>
    </message>
    <message>
        <source>bubble</source>
        <translation>气泡</translation>
    </message>
    <message>
        <source>idle</source>
        <translation>空闲</translation>
    </message>
</context>
<context>
    <name>StepsPlot</name>
    <message>
        <source>Loss, gradient norm, learning rate and time of each step</source>
        <translation>每步的损失、梯度范数、学习率和时间</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>损失</translation>
    </message>
    <message>
        <source>step time [%1]</source>
        <translation>步时间 [%1]</translation>
    </message>
    <message>
        <source>gradient norm</source>
        <translation>梯度范数</translation>
    </message>
    <message>
        <source>learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <source>%1 · step %2: %3</source>
        <translation>%1 · 第 %2 步：%3</translation>
    </message>
</context>
<context>
    <name>StepsView</name>
    <message>
        <source>the one measured step</source>
        <translation>唯一测量的一步</translation>
    </message>
    <message>
        <source>samples/s</source>
        <translation>样本/s</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>训练步</translation>
    </message>
    <message>
        <source>Steps of the training</source>
        <translation>训练的各步</translation>
    </message>
    <message>
        <source>Steps: zoom in</source>
        <translation>训练步：放大</translation>
    </message>
    <message>
        <source>Steps: zoom out</source>
        <translation>训练步：缩小</translation>
    </message>
    <message>
        <source>Steps: earlier</source>
        <translation>训练步：向前</translation>
    </message>
    <message>
        <source>Steps: later</source>
        <translation>训练步：向后</translation>
    </message>
    <message>
        <source>Steps: show all</source>
        <translation>训练步：显示全部</translation>
    </message>
    <message>
        <source>Steps: show the step on the timeline</source>
        <translation>训练步：在时间线上显示该步</translation>
    </message>
    <message>
        <source>bubble and idle</source>
        <translation>气泡与空闲</translation>
    </message>
    <message>
        <source>median</source>
        <translation>中位数</translation>
    </message>
    <message>
        <source>median of %1 measured steps</source>
        <translation>%1 个计入步的中位数</translation>
    </message>
    <message>
        <source>Throughput</source>
        <translation>吞吐量</translation>
    </message>
    <message>
        <source>tok/s</source>
        <translation>tok/s</translation>
    </message>
    <message>
        <source>at the median step</source>
        <translation>按中位步计算</translation>
    </message>
    <message>
        <source>samples per step unknown</source>
        <translation>未记录 token 数</translation>
    </message>
    <message>
        <source>Loss</source>
        <translation>损失</translation>
    </message>
    <message>
        <source>%1 at step %2</source>
        <translation>%1，第 %2 步</translation>
    </message>
    <message>
        <source>Gradient norm</source>
        <translation>梯度范数</translation>
    </message>
    <message>
        <source>last step</source>
        <translation>最后一步</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <source>loss falls from %1 to %2 in %3 steps</source>
        <translation>损失在 %3 步内从 %1 降到 %2</translation>
    </message>
    <message>
        <source>loss goes from %1 to %2 in %3 steps</source>
        <translation>损失在 %3 步内从 %1 变为 %2</translation>
    </message>
    <message>
        <source>steps take %1 to %2</source>
        <translation>每步用时 %1 到 %2</translation>
    </message>
    <message>
        <source>The steps of this trace could not be read. %1</source>
        <translation>无法读取此轨迹的训练步。%1</translation>
    </message>
    <message>
        <source>Open or record a trace to see its steps.</source>
        <translation>打开或录制一个轨迹即可查看训练步。</translation>
    </message>
    <message>
        <source>Step by step</source>
        <translation>逐步</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>不计入</translation>
    </message>
    <message>
        <source>Whole trace</source>
        <translation>整个轨迹</translation>
    </message>
    <message>
        <source>no steps were recognised</source>
        <translation>未识别出步</translation>
    </message>
    <message>
        <source>no steps were recognised: the whole trace is shown as one (menu: Choose steps…)</source>
        <translation>未识别出步：整个轨迹作为一步显示（菜单：选择步…）</translation>
    </message>
    <message>
        <source>%1, by %2</source>
        <translation>%1，依据 %2</translation>
    </message>
    <message>
        <source>This trace marks no training steps on rank %1.</source>
        <translation>此轨迹在 rank %1 上没有标出训练步。</translation>
    </message>
</context>
<context>
    <name>StragglersPage</name>
    <message>
        <source>Arrival skew</source>
        <translation>到达偏差</translation>
    </message>
    <message>
        <source>Who is late</source>
        <translation>谁迟到</translation>
    </message>
    <message>
        <source>Skew of arrivals over the step</source>
        <translation>一步内的到达偏差</translation>
    </message>
    <message>
        <source>Lateness by rank</source>
        <translation>各 rank 的迟到情况</translation>
    </message>
    <message>
        <source>rank %1 +%2</source>
        <translation>rank %1 +%2</translation>
    </message>
    <message>
        <source>%1, %2
arrivals: %3</source>
        <translation>%1，%2
到达：%3</translation>
    </message>
    <message>
        <source>since the step&apos;s begin [ms]</source>
        <translation>自该步开始 [ms]</translation>
    </message>
    <message>
        <source>last arrival − first arrival</source>
        <translation>最后到达 − 最先到达</translation>
    </message>
    <message>
        <source>median %1, longest %2; ◆ rank %3 came last</source>
        <translation>中位数 %1，最长 %2；◆ rank %3 最后到达</translation>
    </message>
    <message>
        <source>All members of every operation arrive at the same instant.</source>
        <translation>每次操作的所有成员同时到达。</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>came last</source>
        <translation>最后到达</translation>
    </message>
    <message>
        <source>Share of its operations in which this rank arrived last</source>
        <translation>该 rank 最后到达的操作所占比例</translation>
    </message>
    <message>
        <source>times</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>Operations in which it came last, of all that it took part in with others</source>
        <translation>它最后到达的操作数，占它与其他 rank 共同参与的操作</translation>
    </message>
    <message>
        <source>behind</source>
        <translation>落后</translation>
    </message>
    <message>
        <source>Own arrival minus first arrival, mean per operation</source>
        <translation>自身到达减去最先到达，每次操作的平均值</translation>
    </message>
    <message>
        <source>waited</source>
        <translation>已等待</translation>
    </message>
    <message>
        <source>Own arrival to last arrival, added up</source>
        <translation>自身到达至最后到达，累加</translation>
    </message>
    <message>
        <source>others waited for it</source>
        <translation>其他 rank 等待它</translation>
    </message>
    <message>
        <source>What the others waited in operations in which this rank came last, added up over them</source>
        <translation>在该 rank 最后到达的操作中其他 rank 的等待，累加</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>rank %1 comes last in %2 of %3 operations and causes %4 of all waiting, %5</source>
        <translation>rank %1 在 %3 个操作中有 %2 个最后到达，造成全部等待的 %4，%5</translation>
    </message>
    <message>
        <source>nobody is late: no rank is last more often than by chance, or it costs under 1 %, %1</source>
        <translation>没有迟到者：没有 rank 最后到达的次数多于偶然，或代价不到 1 %，%1</translation>
    </message>
    <message>
        <source>no operation of %1 has all its ranks in this trace</source>
        <translation>%1中没有操作的所有 rank 都在此轨迹中</translation>
    </message>
    <message>
        <source>since the begin of the first measured step [ms]</source>
        <translation>自第一个计量步开始 [ms]</translation>
    </message>
    <message>
        <source>median %1, longest %2</source>
        <translation>中位数 %1，最长 %2</translation>
    </message>
    <message>
        <source>No operation has all its ranks in this trace: who was waited for cannot be told.</source>
        <translation>没有操作的所有 rank 都在此轨迹中：无法得知在等谁。</translation>
    </message>
    <message>
        <source>Lateness by operation</source>
        <translation>各操作的迟到</translation>
    </message>
    <message>
        <source>Lateness of each rank in each operation</source>
        <translation>每个 rank 在每个操作中的迟到</translation>
    </message>
    <message>
        <source>operations, by time</source>
        <translation>操作，按时间</translation>
    </message>
    <message>
        <source>rank %1, %2: %3 after the first</source>
        <translation>rank %1，%2：比最先者晚 %3</translation>
    </message>
    <message>
        <source>of %1 operations a column each, the latest of them</source>
        <translation>每列 %1 个操作，取其中最晚的</translation>
    </message>
</context>
<context>
    <name>TablesView</name>
    <message>
        <source>This trace has none of these. Choose another table above.</source>
        <translation>此轨迹没有这类数据。请在上方选择其他表格。</translation>
    </message>
    <message>
        <source>None of these in the visible range: another range of the timeline, or another table, may have some.</source>
        <translation>可见范围内没有这类数据：可在时间线中换一个范围，或选择其他表格。</translation>
    </message>
    <message>
        <source>reading…</source>
        <translation>正在读取…</translation>
    </message>
    <message>
        <source>none in the visible range</source>
        <translation>可见范围内没有</translation>
    </message>
    <message>
        <source>the trace has none</source>
        <translation>此轨迹没有</translation>
    </message>
    <message>
        <source>%1 of %2 rows</source>
        <translation>%2 行中的 %1 行</translation>
    </message>
    <message>
        <source>the first %1 of %2 rows</source>
        <translation>%2 行中的前 %1 行</translation>
    </message>
    <message>
        <source>the first %1 rows; zoom in to see others</source>
        <translation>前 %1 行；放大以查看其他行</translation>
    </message>
    <message>
        <source>%1 rows</source>
        <translation>%1 行</translation>
    </message>
    <message>
        <source>visible range</source>
        <translation>可见范围</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>Open a trace first.</source>
        <translation>请先打开一个轨迹。</translation>
    </message>
    <message>
        <source>Tables</source>
        <translation>表格</translation>
    </message>
    <message>
        <source>Table</source>
        <translation>表</translation>
    </message>
    <message>
        <source>Filter</source>
        <translation>筛选</translation>
    </message>
    <message>
        <source>Filter the rows</source>
        <translation>筛选行</translation>
    </message>
    <message>
        <source>Rows</source>
        <translation>行</translation>
    </message>
    <message>
        <source>Double click: show it in the timeline</source>
        <translation>双击：在时间线中显示</translation>
    </message>
    <message>
        <source>Next table</source>
        <translation>下一个表</translation>
    </message>
    <message>
        <source>asking…</source>
        <translation>正在查询…</translation>
    </message>
    <message>
        <source>SQL over the tables of the trace file; nothing can be changed</source>
        <translation>用 SQL 查询轨迹文件的表；不会改动任何内容</translation>
    </message>
    <message>
        <source>the first %1 rows; there are more (%2)</source>
        <translation>前 %1 行，还有更多（%2）</translation>
    </message>
    <message>
        <source>%1 rows (%2)</source>
        <translation>%1 行（%2）</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>已停止</translation>
    </message>
    <message>
        <source>SQL</source>
        <translation>SQL</translation>
    </message>
    <message>
        <source>SQL query</source>
        <translation>SQL 查询</translation>
    </message>
    <message>
        <source>Double click: show the row&apos;s slice, or its time, in the timeline</source>
        <translation>双击：在时间线中显示该行的切片或时间</translation>
    </message>
    <message>
        <source>Plot</source>
        <translation>绘图</translation>
    </message>
    <message>
        <source>A plot needs rows with numbers: the first column is the axis, every other one a curve.</source>
        <translation>绘图需要含数字的行：第一列为横轴，其余每列一条曲线。</translation>
    </message>
    <message>
        <source>The answer as curves: the first column is the axis; double-click a point to go there</source>
        <translation>把结果画成曲线：第一列为横轴；双击一点即可跳转</translation>
    </message>
    <message>
        <source>the longest %1 of %2 rows</source>
        <translation>%2 行中最长的 %1 行</translation>
    </message>
    <message>
        <source>p50 and p99 follow…</source>
        <translation>p50 与 p99 随后给出…</translation>
    </message>
    <message>
        <source>p50 and p99 within 1 %</source>
        <translation>p50 与 p99 误差在 1 % 以内</translation>
    </message>
</context>
<context>
    <name>TimePlot</name>
    <message>
        <source>backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>第 %1 步</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
    </message>
    <message>
        <source>%1 · %2 · %3</source>
        <translation>%1 · %2 · %3</translation>
    </message>
</context>
<context>
    <name>TimelineAxis</name>
    <message>
        <source>fault</source>
        <translation>故障</translation>
    </message>
    <message>
        <source>checkpoint</source>
        <translation>检查点</translation>
    </message>
    <message>
        <source>loss spike</source>
        <translation>损失突增</translation>
    </message>
    <message>
        <source>out of memory</source>
        <translation>内存不足</translation>
    </message>
    <message>
        <source>note</source>
        <translation>注释</translation>
    </message>
    <message>
        <source>rollback</source>
        <translation>回滚</translation>
    </message>
    <message>
        <source>rank %1 · %2</source>
        <translation>rank %1 · %2</translation>
    </message>
    <message>
        <source>mark %1: %2</source>
        <translation>标记 %1：%2</translation>
    </message>
    <message numerus="yes">
        <source>and %n more, zoom in to tell them apart</source>
        <translation>
            <numerusform>另有 %n 个，放大可分辨</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>TimelineCanvas</name>
    <message>
        <source>Timeline</source>
        <translation>时间线</translation>
    </message>
    <message>
        <source>Slices of all ranks over time. Wheel or W and S zoom, drag or A and D move, F fits.</source>
        <translation>所有 rank 的切片随时间分布。滚轮或 W、S 缩放，拖动或 A、D 移动，F 适应窗口。</translation>
    </message>
    <message>
        <source>Scroll the rows</source>
        <translation>滚动各行</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>stage %1</source>
        <translation>流水级 %1</translation>
    </message>
    <message>
        <source>unknown operator</source>
        <translation>未知算子</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>第 %1 层</translation>
    </message>
    <message>
        <source>micro-batch %1</source>
        <translation>微批次 %1</translation>
    </message>
    <message>
        <source>%1 slices, %2 busy</source>
        <translation>%1 个切片，忙碌 %2</translation>
    </message>
    <message>
        <source>mostly %1</source>
        <translation>主要是 %1</translation>
    </message>
    <message>
        <source>longest %1 · zoom in to see them</source>
        <translation>最长 %1 · 放大后可见</translation>
    </message>
    <message numerus="yes">
        <source>%1 · %n tracks</source>
        <translation>
            <numerusform>%1 · %n 条轨道</numerusform>
        </translation>
    </message>
    <message>
        <source>on the critical path: every bit longer makes the step longer</source>
        <translation>在关键路径上：每长一点，步就长一点</translation>
    </message>
    <message>
        <source>as tight as the critical path</source>
        <translation>与关键路径一样紧</translation>
    </message>
    <message>
        <source>could take %1 longer without harm</source>
        <translation>可以再长 %1 而无害</translation>
    </message>
</context>
<context>
    <name>TimelineLabels</name>
    <message>
        <source>r%1 · %2</source>
        <comment>rank and track, short</comment>
        <translation>r%1 · %2</translation>
    </message>
    <message>
        <source>rank %1 · step</source>
        <translation>rank %1 · 步</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>Filter rows</source>
        <translation>筛选行</translation>
    </message>
    <message>
        <source>Show only rows whose name has these words, such as rank 1 stream 7; an expression behind a slash</source>
        <translation>只显示名称含这些词的行，例如 rank 1 stream 7；斜杠后为正则表达式</translation>
    </message>
</context>
<context>
    <name>TimelineMinimap</name>
    <message>
        <source>The whole trace</source>
        <translation>整条轨迹</translation>
    </message>
    <message>
        <source>What the ranks did over the whole trace, and which part of it the timeline shows.</source>
        <translation>各 rank 在整条轨迹中做了什么，以及时间线显示的是哪一段。</translation>
    </message>
    <message>
        <source>The whole trace: drag the part that is shown or its edges, or drag beside it to choose another</source>
        <translation>整条轨迹：拖动所显示的区段或其边缘，或在旁边拖动以选择另一段</translation>
    </message>
    <message>
        <source>whole trace</source>
        <translation>整条轨迹</translation>
    </message>
</context>
<context>
    <name>TimelineToolbar</name>
    <message>
        <source>Rank</source>
        <translation>Rank</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Find operators</source>
        <translation>查找算子</translation>
    </message>
    <message>
        <source>Find operators by name</source>
        <translation>按名称查找算子</translation>
    </message>
    <message>
        <source>Regular expression</source>
        <translation>正则表达式</translation>
    </message>
    <message>
        <source>Hide others</source>
        <translation>隐藏其他</translation>
    </message>
    <message>
        <source>Hide the slices that do not match instead of dimming them</source>
        <translation>隐藏不匹配的切片，而不是将其变暗</translation>
    </message>
    <message>
        <source>Previous match (Shift+Enter)</source>
        <translation>上一个匹配 (Shift+Enter)</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>上一个匹配</translation>
    </message>
    <message>
        <source>Next match (Enter)</source>
        <translation>下一个匹配 (Enter)</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>下一个匹配</translation>
    </message>
    <message>
        <source>All ranks</source>
        <translation>所有 rank</translation>
    </message>
    <message>
        <source>Rank %1</source>
        <translation>Rank %1</translation>
    </message>
    <message>
        <source>searching…</source>
        <translation>正在搜索…</translation>
    </message>
    <message>
        <source>no match</source>
        <translation>没有匹配</translation>
    </message>
    <message>
        <source>more than %1</source>
        <translation>超过 %1</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>%1 matches</source>
        <translation>%1 个匹配</translation>
    </message>
    <message>
        <source>Rows</source>
        <translation>行</translation>
    </message>
    <message>
        <source>Order, heights and colours of the rows</source>
        <translation>行的顺序、高度与颜色</translation>
    </message>
</context>
<context>
    <name>TimelineView</name>
    <message>
        <source>No trace is open.
Open a .fourwalls file, drop one onto the window, or record a run to see its timeline.</source>
        <translation>没有打开的轨迹。
打开一个 .fourwalls 文件、将文件拖到窗口上，或录制一次运行，即可查看时间线。</translation>
    </message>
    <message>
        <source>Opening %1 …</source>
        <translation>正在打开 %1…</translation>
    </message>
    <message>
        <source>This trace has no slices: nothing was recorded on any track.
Its counters and allocations are in the other views. Record without --no-trace to get a timeline.</source>
        <translation>此轨迹没有切片：任何轨道上都没有记录。
计数器和内存分配在其他视图中。不带 --no-trace 录制即可得到时间线。</translation>
    </message>
    <message>
        <source>The trace could not be read.
%1</source>
        <translation>无法读取轨迹。
%1</translation>
    </message>
    <message>
        <source>Fit</source>
        <translation>适应</translation>
    </message>
    <message>
        <source>Show everything</source>
        <translation>显示全部</translation>
    </message>
    <message>
        <source>Zoom in</source>
        <translation>放大</translation>
    </message>
    <message>
        <source>Zoom out</source>
        <translation>缩小</translation>
    </message>
    <message>
        <source>Move to earlier times</source>
        <translation>移到更早的时间</translation>
    </message>
    <message>
        <source>Move to later times</source>
        <translation>移到更晚的时间</translation>
    </message>
    <message>
        <source>Previous slice</source>
        <translation>上一个切片</translation>
    </message>
    <message>
        <source>Next slice</source>
        <translation>下一个切片</translation>
    </message>
    <message>
        <source>Scroll up</source>
        <translation>向上滚动</translation>
    </message>
    <message>
        <source>Scroll down</source>
        <translation>向下滚动</translation>
    </message>
    <message>
        <source>Find operators</source>
        <translation>查找算子</translation>
    </message>
    <message>
        <source>Next match</source>
        <translation>下一个匹配</translation>
    </message>
    <message>
        <source>Previous match</source>
        <translation>上一个匹配</translation>
    </message>
    <message>
        <source>Show hidden tracks</source>
        <translation>显示隐藏的轨道</translation>
    </message>
    <message>
        <source>Expand all ranks</source>
        <translation>展开所有 rank</translation>
    </message>
    <message>
        <source>Collapse all ranks</source>
        <translation>折叠所有 rank</translation>
    </message>
    <message>
        <source>Memory below the rows</source>
        <translation>在各行下方显示内存</translation>
    </message>
    <message>
        <source>Show the selected slice, the measured range or all slices (F)</source>
        <translation>显示所选切片、测量范围或全部 (F)</translation>
    </message>
    <message>
        <source>Unpin this track</source>
        <translation>取消固定此轨道</translation>
    </message>
    <message>
        <source>Pin this track to the top</source>
        <translation>将此轨道固定到顶部</translation>
    </message>
    <message>
        <source>Hide this track</source>
        <translation>隐藏此轨道</translation>
    </message>
    <message>
        <source>Expand rank %1</source>
        <translation>展开 rank %1</translation>
    </message>
    <message>
        <source>Collapse rank %1</source>
        <translation>折叠 rank %1</translation>
    </message>
    <message>
        <source>Previous slice of the same name</source>
        <translation>同名的上一个切片</translation>
    </message>
    <message>
        <source>Next slice of the same name</source>
        <translation>同名的下一个切片</translation>
    </message>
    <message>
        <source>Go to what launched the slice, or to what it launched</source>
        <translation>转到启动该切片的调用，或它启动的工作</translation>
    </message>
    <message>
        <source>Select an area</source>
        <translation>选择区域</translation>
    </message>
    <message>
        <source>Statistics of what is visible</source>
        <translation>可见范围的统计</translation>
    </message>
    <message>
        <source>Statistics of everything like the selected slice</source>
        <translation>与所选切片相同的一切的统计</translation>
    </message>
    <message>
        <source>Clear the selection</source>
        <translation>清除选择</translation>
    </message>
    <message>
        <source>Drag over time and rows for their statistics; Ctrl with the mouse does it too (M)</source>
        <translation>跨越时间与行拖动以查看统计；按住 Ctrl 拖动也可 (M)</translation>
    </message>
    <message>
        <source>F: fit · R: statistics · W A S D: move</source>
        <translation>F：适应 · R：统计 · W A S D：移动</translation>
    </message>
    <message>
        <source>Copy the name</source>
        <translation>复制名称</translation>
    </message>
    <message>
        <source>Find all of this name</source>
        <translation>查找全部同名切片</translation>
    </message>
    <message>
        <source>Statistics of the time of this slice</source>
        <translation>该切片所在时间的统计</translation>
    </message>
    <message>
        <source>All commands of the timeline</source>
        <translation>时间线的全部命令</translation>
    </message>
    <message>
        <source>Next note</source>
        <translation>下一条笔记</translation>
    </message>
    <message>
        <source>Previous note</source>
        <translation>上一条笔记</translation>
    </message>
    <message>
        <source>Show all counters, or none</source>
        <translation>显示全部计数器或全不显示</translation>
    </message>
    <message>
        <source>Slack</source>
        <translation>余量</translation>
    </message>
    <message>
        <source>What of the chosen step could take longer without harm is pale, the critical path underlined (X)</source>
        <translation>所选步中可以更长而无害的部分变淡，关键路径加下划线 (X)</translation>
    </message>
    <message>
        <source>Bookmark this slice…</source>
        <translation>为此切片加书签…</translation>
    </message>
    <message>
        <source>Copy the command that opens this view</source>
        <translation>复制打开此视图的命令</translation>
    </message>
    <message>
        <source>Go to the longest kernel</source>
        <translation>转到最长的内核</translation>
    </message>
</context>
<context>
    <name>TraceDocument</name>
    <message>
        <source>%1 could not be opened</source>
        <translation>无法打开 %1</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>重试</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
</context>
<context>
    <name>TraceSharing</name>
    <message>
        <source>Written: %1</source>
        <translation>已写入：%1</translation>
    </message>
    <message>
        <source>Report as a page</source>
        <translation>生成报告页面</translation>
    </message>
    <message>
        <source>Export the trace</source>
        <translation>导出轨迹</translation>
    </message>
    <message>
        <source>Nothing of the trace is in view.</source>
        <translation>视图中没有轨迹的任何部分。</translation>
    </message>
    <message>
        <source>Save what is seen as a trace</source>
        <translation>将所见部分存为轨迹</translation>
    </message>
    <message>
        <source>Learn rates from this trace</source>
        <translation>从此轨迹学习速率</translation>
    </message>
    <message>
        <source>Files of the ranks of one run</source>
        <translation>同一次运行中各 rank 的文件</translation>
    </message>
    <message>
        <source>Merge into one trace</source>
        <translation>合并为一条轨迹</translation>
    </message>
    <message>
        <source>On the clipboard: %1</source>
        <translation>已复制到剪贴板：%1</translation>
    </message>
    <message>
        <source>Export the view as a picture</source>
        <translation>将视图导出为图片</translation>
    </message>
    <message>
        <source>PNG picture (*.png);;SVG drawing (*.svg);;PDF page (*.pdf)</source>
        <translation>PNG 图片 (*.png);;SVG 矢量图 (*.svg);;PDF 页面 (*.pdf)</translation>
    </message>
    <message>
        <source>This view shows no table.</source>
        <translation>此视图没有表格。</translation>
    </message>
    <message>
        <source>Export the table</source>
        <translation>导出表格</translation>
    </message>
    <message>
        <source>CSV table (*.csv)</source>
        <translation>CSV 表格 (*.csv)</translation>
    </message>
    <message>
        <source>The table is on the clipboard.</source>
        <translation>表格已复制到剪贴板。</translation>
    </message>
    <message>
        <source>Measure this machine</source>
        <translation>测量本机</translation>
    </message>
</context>
<context>
    <name>TraceTables</name>
    <message>
        <source>step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>begin</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>time</source>
        <translation>时间</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>损失</translation>
    </message>
    <message>
        <source>learning rate</source>
        <translation>学习率</translation>
    </message>
    <message>
        <source>gradient norm</source>
        <translation>梯度范数</translation>
    </message>
    <message>
        <source>samples</source>
        <translation>样本数</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>token 数</translation>
    </message>
    <message>
        <source>rank</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>device</source>
        <translation>设备</translation>
    </message>
    <message>
        <source>host</source>
        <translation>主机</translation>
    </message>
    <message>
        <source>pipeline stage</source>
        <translation>流水级</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>stands for</source>
        <translation>代表 rank 数</translation>
    </message>
    <message>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>exposed communication</source>
        <translation>暴露通信</translation>
    </message>
    <message>
        <source>bubble</source>
        <translation>气泡</translation>
    </message>
    <message>
        <source>idle</source>
        <translation>空闲</translation>
    </message>
    <message>
        <source>waiting</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>at</source>
        <translation>时刻</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>gradients</source>
        <translation>梯度</translation>
    </message>
    <message>
        <source>optimizer state</source>
        <translation>优化器状态</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>激活</translation>
    </message>
    <message>
        <source>temporaries</source>
        <translation>临时量</translation>
    </message>
    <message>
        <source>communication buffers</source>
        <translation>通信缓冲区</translation>
    </message>
    <message>
        <source>workspace</source>
        <translation>工作区</translation>
    </message>
    <message>
        <source>other</source>
        <translation>其他</translation>
    </message>
    <message>
        <source>resident</source>
        <translation>常驻</translation>
    </message>
    <message>
        <source>reserved</source>
        <translation>保留</translation>
    </message>
    <message>
        <source>operator</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>类型</translation>
    </message>
    <message>
        <source>count</source>
        <translation>次数</translation>
    </message>
    <message>
        <source>total</source>
        <translation>合计</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>平均</translation>
    </message>
    <message>
        <source>longest</source>
        <translation>最长</translation>
    </message>
    <message>
        <source>FLOP/s</source>
        <translation>FLOP/s</translation>
    </message>
    <message>
        <source>details</source>
        <translation>详情</translation>
    </message>
    <message>
        <source>name</source>
        <translation>名称</translation>
    </message>
    <message>
        <source>track</source>
        <translation>轨道</translation>
    </message>
    <message>
        <source>micro-batch</source>
        <translation>微批次</translation>
    </message>
    <message>
        <source>operation</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>group</source>
        <translation>组</translation>
    </message>
    <message>
        <source>number</source>
        <translation>序号</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>传输</translation>
    </message>
    <message>
        <source>payload</source>
        <translation>载荷</translation>
    </message>
    <message>
        <source>sent</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>peer</source>
        <translation>对端</translation>
    </message>
    <message>
        <source>algorithm</source>
        <translation>算法</translation>
    </message>
    <message>
        <source>protocol</source>
        <translation>协议</translation>
    </message>
    <message>
        <source>bytes</source>
        <translation>字节</translation>
    </message>
    <message>
        <source>category</source>
        <translation>类别</translation>
    </message>
    <message>
        <source>life</source>
        <translation>生存期</translation>
    </message>
    <message>
        <source>address</source>
        <translation>地址</translation>
    </message>
    <message>
        <source>counter</source>
        <translation>计数器</translation>
    </message>
    <message>
        <source>value</source>
        <translation>数值</translation>
    </message>
    <message>
        <source>event</source>
        <translation>事件</translation>
    </message>
    <message>
        <source>text</source>
        <translation>文字</translation>
    </message>
    <message>
        <source>from</source>
        <translation>来源</translation>
    </message>
    <message>
        <source>to</source>
        <translation>目标</translation>
    </message>
    <message>
        <source>messages</source>
        <translation>消息数</translation>
    </message>
    <message>
        <source>members</source>
        <translation>成员数</translation>
    </message>
    <message>
        <source>ranks</source>
        <translation>rank 数</translation>
    </message>
    <message>
        <source>transport</source>
        <translation>传输方式</translation>
    </message>
    <message>
        <source>what</source>
        <translation>内容</translation>
    </message>
    <message>
        <source>why</source>
        <translation>原因</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>步</translation>
    </message>
    <message>
        <source>Ranks</source>
        <translation>rank</translation>
    </message>
    <message>
        <source>Memory peaks</source>
        <translation>内存峰值</translation>
    </message>
    <message>
        <source>Operators</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>Slices</source>
        <translation>切片</translation>
    </message>
    <message>
        <source>Collectives</source>
        <translation>集合通信</translation>
    </message>
    <message>
        <source>Collectives, added up</source>
        <translation>集合通信合计</translation>
    </message>
    <message>
        <source>Allocations</source>
        <translation>内存分配</translation>
    </message>
    <message>
        <source>Counters</source>
        <translation>计数器</translation>
    </message>
    <message>
        <source>Events</source>
        <translation>事件</translation>
    </message>
    <message>
        <source>Traffic</source>
        <translation>流量</translation>
    </message>
    <message>
        <source>Process groups</source>
        <translation>进程组</translation>
    </message>
    <message>
        <source>Audit</source>
        <translation>审计</translation>
    </message>
    <message>
        <source>left out as</source>
        <translation>未计入的原因</translation>
    </message>
    <message>
        <source>layers</source>
        <translation>层数</translation>
    </message>
    <message>
        <source>share</source>
        <translation>占比</translation>
    </message>
    <message>
        <source>Operators, layers together</source>
        <translation>算子（各层合计）</translation>
    </message>
    <message>
        <source>p50</source>
        <translation>p50</translation>
    </message>
    <message>
        <source>Half of the slices that are counted are not longer</source>
        <translation>计入的切片中有一半不超过此值</translation>
    </message>
    <message>
        <source>p99</source>
        <translation>p99</translation>
    </message>
    <message>
        <source>99 of 100 of the slices that are counted are not longer</source>
        <translation>计入的切片中 100 个有 99 个不超过此值</translation>
    </message>
</context>
<context>
    <name>TrafficCard</name>
    <message>
        <source>Traffic</source>
        <translation>流量</translation>
    </message>
    <message>
        <source>wire</source>
        <translation>线上字节</translation>
    </message>
    <message>
        <source>Bytes that were really sent</source>
        <translation>实际发送的字节</translation>
    </message>
    <message>
        <source>payload</source>
        <translation>载荷</translation>
    </message>
    <message>
        <source>Buffers handed to operations, shared out by what was sent to whom</source>
        <translation>提交给操作的缓冲区，按发送对象分摊</translation>
    </message>
    <message>
        <source>Process group</source>
        <translation>进程组</translation>
    </message>
    <message>
        <source>Traffic from rank to rank</source>
        <translation>rank 之间的流量</translation>
    </message>
    <message>
        <source>from rank</source>
        <translation>发送 rank</translation>
    </message>
    <message>
        <source>to rank</source>
        <translation>接收 rank</translation>
    </message>
    <message>
        <source>all groups</source>
        <translation>所有组</translation>
    </message>
    <message>
        <source>most: rank %1 → %2, %3</source>
        <translation>最多：rank %1 → %2，%3</translation>
    </message>
    <message>
        <source> · derived from the operations of %1, rings assumed</source>
        <translation> · 由%1的操作推导，假定为环形</translation>
    </message>
    <message>
        <source> · derived from the operations of %1 and their algorithm</source>
        <translation> · 由%1的操作及其算法推导</translation>
    </message>
    <message>
        <source> · the first %1 of %2 ranks</source>
        <translation> · %2 个 rank 中的前 %1 个</translation>
    </message>
    <message>
        <source>Nothing was sent between ranks in %1.</source>
        <translation>在%1中 rank 之间没有发送任何数据。</translation>
    </message>
    <message>
        <source>This trace does not say how many bytes its operations sent, or to whom.</source>
        <translation>此轨迹未说明其操作发送了多少字节、发给谁。</translation>
    </message>
    <message>
        <source>This trace does not say which ranks its operations sent to.</source>
        <translation>此轨迹没有说明各操作发送到哪些 rank。</translation>
    </message>
    <message>
        <source> · recorded, whole trace, warm-up included</source>
        <translation> · 记录值，整个轨迹，含预热</translation>
    </message>
    <message>
        <source> · modelled, %1</source>
        <translation> · 建模值，%1</translation>
    </message>
</context>
<context>
    <name>TuningView</name>
    <message>
        <source>Stop</source>
        <translation>停止</translation>
    </message>
    <message>
        <source>Search all</source>
        <translation>搜索全部</translation>
    </message>
    <message>
        <source>Search</source>
        <translation>搜索</translation>
    </message>
    <message>
        <source>%1 plans priced, %2 fit</source>
        <translation>已评估 %1 个计划，%2 个放得下</translation>
    </message>
    <message>
        <source>searching: </source>
        <translation>正在搜索：</translation>
    </message>
    <message>
        <source> (stopped early)</source>
        <translation>（提前停止）</translation>
    </message>
    <message>
        <source>best: %1, %2, %3</source>
        <translation>最佳：%1，%2，%3</translation>
    </message>
    <message>
        <source>no plan fits into the devices&apos; memory</source>
        <translation>没有计划放得进设备内存</translation>
    </message>
    <message>
        <source>no plan divides this network and batch over so many devices</source>
        <translation>没有计划能把此网络和批量分到这么多设备上</translation>
    </message>
    <message>
        <source>this run (predicted)</source>
        <translation>本次运行（预测）</translation>
    </message>
    <message>
        <source>sliders</source>
        <translation>滑块</translation>
    </message>
    <message>
        <source>plan of the search</source>
        <translation>搜索得到的计划</translation>
    </message>
    <message>
        <source>Open or record a trace to search for a better plan.</source>
        <translation>打开或录制一个轨迹，搜索更好的计划。</translation>
    </message>
    <message>
        <source>The plans of this network cannot be searched. %1</source>
        <translation>无法搜索此网络的计划。%1</translation>
    </message>
    <message>
        <source>fits</source>
        <translation>放得下</translation>
    </message>
    <message>
        <source>nothing is quicker and smaller</source>
        <translation>没有更快且更小的</translation>
    </message>
    <message>
        <source>does not fit</source>
        <translation>放不下</translation>
    </message>
    <message>
        <source>Plans</source>
        <translation>计划</translation>
    </message>
    <message>
        <source>Best plans</source>
        <translation>最佳计划</translation>
    </message>
    <message>
        <source>double click: into the sliders</source>
        <translation>双击：载入滑块</translation>
    </message>
    <message>
        <source>What plans are made of</source>
        <translation>计划的构成</translation>
    </message>
    <message>
        <source>drag on an axis to keep only some</source>
        <translation>在轴上拖动以只保留一部分</translation>
    </message>
    <message>
        <source>Goodput</source>
        <translation>有效率</translation>
    </message>
    <message>
        <source>Devices</source>
        <translation>设备数</translation>
    </message>
    <message>
        <source>What is best</source>
        <translation>什么最佳</translation>
    </message>
    <message>
        <source>Clear</source>
        <translation>清除</translation>
    </message>
    <message>
        <source>A device fails every</source>
        <translation>设备故障间隔</translation>
    </message>
    <message>
        <source>checkpoint</source>
        <translation>检查点</translation>
    </message>
    <message>
        <source>restart</source>
        <translation>重启</translation>
    </message>
    <message>
        <source>Mean time between failures of one device; the job fails with any of them: M = MTBF / devices</source>
        <translation>单设备平均无故障时间；任一设备故障作业即失败：M = MTBF / 设备数</translation>
    </message>
    <message>
        <source>Time to write a checkpoint d; best interval by Daly: sqrt(2dM) with corrections</source>
        <translation>写一个检查点的时间 d；Daly 的最佳间隔：sqrt(2dM) 加修正</translation>
    </message>
    <message>
        <source>From a failure until training goes on: detection, new nodes, loading</source>
        <translation>从故障到恢复训练：检测、换节点、加载</translation>
    </message>
    <message>
        <source>Step time against peak memory of every plan</source>
        <translation>每个计划的步时间对峰值内存</translation>
    </message>
    <message>
        <source>Degrees, time and memory of every plan as lines</source>
        <translation>以折线表示每个计划的并行度、时间与内存</translation>
    </message>
    <message>
        <source>shortest step</source>
        <translation>最短的步</translation>
    </message>
    <message>
        <source>smallest peak</source>
        <translation>最小的峰值</translation>
    </message>
    <message>
        <source>fewest device-seconds</source>
        <translation>最少的设备秒</translation>
    </message>
    <message>
        <source>Tuning: search or stop</source>
        <translation>调优：搜索或停止</translation>
    </message>
    <message>
        <source>Tuning: show all plans</source>
        <translation>调优：显示全部计划</translation>
    </message>
    <message>
        <source>Tuning: the chosen plan into the sliders</source>
        <translation>调优：将所选计划载入滑块</translation>
    </message>
    <message>
        <source>no plan that fits lies inside all brushes</source>
        <translation>放得下的计划都在所选范围之外</translation>
    </message>
    <message>
        <source>no plan fits among those searched so far</source>
        <translation>目前搜索过的计划都放不下</translation>
    </message>
    <message>
        <source>best so far: %1, %2, %3</source>
        <translation>目前最佳：%1，%2，%3</translation>
    </message>
    <message>
        <source>Open the What-if sliders and choose network and machines to search for a plan.</source>
        <translation>请打开假设滑块，选择网络与机器以搜索计划。</translation>
    </message>
    <message>
        <source>At best otherwise: %1</source>
        <translation>换一个取值，最好也只有：%1</translation>
    </message>
    <message>
        <source>Robust: the best plan loses least, too, where the machine&apos;s rates are not as believed: %1 on average.</source>
        <translation>稳健：机器的速率与估计不同时，损失最小的也是最好的计划：平均 %1。</translation>
    </message>
    <message>
        <source>Robust: %1. It takes %2 more, and where the machine&apos;s rates are not as believed it loses %3 on average, the best plan %4.</source>
        <translation>稳健：%1。它多花 %2；机器的速率与估计不同时，它平均损失 %3，最好的计划损失 %4。</translation>
    </message>
    <message>
        <source>Shortest step, smallest peak, or fewest device-seconds or least energy (which may leave devices idle)</source>
        <translation>最短的步、最小的峰值、最少的设备秒或最少的能量（后两种可能让部分设备空闲）</translation>
    </message>
    <message>
        <source>least energy</source>
        <translation>最少的能量</translation>
    </message>
    <message>
        <source>failures</source>
        <translation>故障</translation>
    </message>
    <message>
        <source>as this job recorded: %1</source>
        <translation>按本作业的记录：%1</translation>
    </message>
</context>
<context>
    <name>Utilisation</name>
    <message>
        <source>no measured step</source>
        <translation>没有计入的步</translation>
    </message>
    <message>
        <source>no operator says how much it computes</source>
        <translation>没有算子说明其计算量</translation>
    </message>
    <message>
        <source>FLOPs known for %1 of the matrix products&apos; time</source>
        <translation>只知道矩阵乘法时间中 %1 的 FLOPs</translation>
    </message>
    <message>
        <source>the trace does not name its device</source>
        <translation>轨迹没有写明设备</translation>
    </message>
    <message>
        <source>no data sheet of %1</source>
        <translation>没有 %1 的规格数据</translation>
    </message>
    <message>
        <source>ranks on devices with different peaks</source>
        <translation>各 rank 的设备峰值不同</translation>
    </message>
    <message>
        <source>the kernels&apos; names do not say what they multiply</source>
        <translation>内核名称看不出所用的数据类型</translation>
    </message>
    <message>
        <source>no rate known for %1 on %2</source>
        <translation>不知道 %2 上 %1 的速率</translation>
    </message>
    <message>
        <source>kernels run at up to %1 times the peak: it is not theirs</source>
        <translation>有内核达到峰值的 %1 倍：这不是它们的峰值</translation>
    </message>
    <message>
        <source>kernels run above the peak: it is not theirs</source>
        <translation>有内核超过峰值：这不是它们的峰值</translation>
    </message>
    <message>
        <source>FLOPs known for %1 of the compute time</source>
        <translation>已知计算时间中 %1 的 FLOPs</translation>
    </message>
    <message>
        <source>%1, %2</source>
        <translation>%1，%2</translation>
    </message>
    <message>
        <source>operators say how much they compute, but no kernel is known to be theirs</source>
        <translation>算子说明了计算量，但不知道哪些内核属于它们</translation>
    </message>
    <message>
        <source>no device was recorded</source>
        <translation>未记录设备</translation>
    </message>
</context>
<context>
    <name>ViewTitle</name>
    <message>
        <source>Welcome</source>
        <translation>欢迎</translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation>时间线</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>训练步</translation>
    </message>
    <message>
        <source>Overview</source>
        <translation>概览</translation>
    </message>
    <message>
        <source>Communication</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>Performance</source>
        <translation>性能</translation>
    </message>
    <message>
        <source>Pipeline</source>
        <translation>流水线</translation>
    </message>
    <message>
        <source>Tuning</source>
        <translation>调优</translation>
    </message>
    <message>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
    <message>
        <source>Tables</source>
        <translation>表格</translation>
    </message>
    <message>
        <source>Demos</source>
        <translation>演示</translation>
    </message>
    <message>
        <source>Claims</source>
        <translation>说法</translation>
    </message>
    <message>
        <source>Findings</source>
        <translation>发现</translation>
    </message>
    <message>
        <source>Hang</source>
        <translation>挂起</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>训练运行</translation>
    </message>
</context>
<context>
    <name>Vocabulary</name>
    <message>
        <source>recorded</source>
        <translation>已录制</translation>
    </message>
    <message>
        <source>imported</source>
        <translation>导入</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>预测</translation>
    </message>
    <message>
        <source>synthetic</source>
        <translation>合成</translation>
    </message>
    <message>
        <source>wall clock</source>
        <translation>墙上时钟</translation>
    </message>
    <message>
        <source>device clock</source>
        <translation>设备时钟</translation>
    </message>
    <message>
        <source>predicted clock</source>
        <translation>预测时钟</translation>
    </message>
    <message>
        <source>step</source>
        <translation>步</translation>
    </message>
    <message>
        <source>phase</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>layer</source>
        <translation>层</translation>
    </message>
    <message>
        <source>operator</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>kernel</source>
        <translation>内核</translation>
    </message>
    <message>
        <source>collective</source>
        <translation>集合通信</translation>
    </message>
    <message>
        <source>hop</source>
        <translation>跳</translation>
    </message>
    <message>
        <source>copy</source>
        <translation>拷贝</translation>
    </message>
    <message>
        <source>wait</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>data loading</source>
        <translation>数据加载</translation>
    </message>
    <message>
        <source>checkpoint</source>
        <translation>检查点</translation>
    </message>
    <message>
        <source>marker</source>
        <translation>标记</translation>
    </message>
    <message>
        <source>host call</source>
        <translation>主机调用</translation>
    </message>
    <message>
        <source>no phase</source>
        <translation>无阶段</translation>
    </message>
    <message>
        <source>forward</source>
        <translation>前向</translation>
    </message>
    <message>
        <source>backward input</source>
        <translation>反向（输入）</translation>
    </message>
    <message>
        <source>backward weight</source>
        <translation>反向（权重）</translation>
    </message>
    <message>
        <source>recompute</source>
        <translation>重计算</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <source>gradient synchronisation</source>
        <translation>梯度同步</translation>
    </message>
    <message>
        <source>checkpoint save</source>
        <translation>保存检查点</translation>
    </message>
    <message>
        <source>checkpoint load</source>
        <translation>加载检查点</translation>
    </message>
    <message>
        <source>evaluation</source>
        <translation>评估</translation>
    </message>
    <message>
        <source>setup</source>
        <translation>准备</translation>
    </message>
    <message>
        <source>structure</source>
        <translation>结构</translation>
    </message>
    <message>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>传输</translation>
    </message>
    <message>
        <source>collective wait</source>
        <translation>集合通信等待</translation>
    </message>
    <message>
        <source>pipeline wait</source>
        <translation>流水线等待</translation>
    </message>
    <message>
        <source>launch</source>
        <translation>启动</translation>
    </message>
    <message>
        <source>pipeline transfer</source>
        <translation>流水线传输</translation>
    </message>
    <message>
        <source>synchronisation</source>
        <translation>同步</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>权重</translation>
    </message>
    <message>
        <source>gradients</source>
        <translation>梯度</translation>
    </message>
    <message>
        <source>optimizer state</source>
        <translation>优化器状态</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>激活</translation>
    </message>
    <message>
        <source>temporaries</source>
        <translation>临时</translation>
    </message>
    <message>
        <source>communication buffers</source>
        <translation>通信缓冲区</translation>
    </message>
    <message>
        <source>workspace</source>
        <translation>工作区</translation>
    </message>
    <message>
        <source>other memory</source>
        <translation>其他内存</translation>
    </message>
    <message>
        <source>all-reduce</source>
        <translation>all-reduce</translation>
    </message>
    <message>
        <source>all-gather</source>
        <translation>all-gather</translation>
    </message>
    <message>
        <source>reduce-scatter</source>
        <translation>reduce-scatter</translation>
    </message>
    <message>
        <source>broadcast</source>
        <translation>broadcast</translation>
    </message>
    <message>
        <source>all-to-all</source>
        <translation>all-to-all</translation>
    </message>
    <message>
        <source>send</source>
        <translation>发送</translation>
    </message>
    <message>
        <source>receive</source>
        <translation>接收</translation>
    </message>
    <message>
        <source>reduce</source>
        <translation>reduce</translation>
    </message>
    <message>
        <source>gather</source>
        <translation>gather</translation>
    </message>
    <message>
        <source>scatter</source>
        <translation>scatter</translation>
    </message>
    <message>
        <source>barrier</source>
        <translation>barrier</translation>
    </message>
    <message>
        <source>other operation</source>
        <translation>其他操作</translation>
    </message>
    <message>
        <source>noted</source>
        <translation>已注明</translation>
    </message>
    <message>
        <source>repaired</source>
        <translation>已修复</translation>
    </message>
    <message>
        <source>skipped</source>
        <translation>已跳过</translation>
    </message>
    <message>
        <source>dropped</source>
        <translation>已丢弃</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>训练步</translation>
    </message>
    <message>
        <source>phases</source>
        <translation>阶段</translation>
    </message>
    <message>
        <source>layers and operators</source>
        <translation>层与算子</translation>
    </message>
    <message>
        <source>operators</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>kernels</source>
        <translation>内核</translation>
    </message>
    <message>
        <source>communication</source>
        <translation>通信</translation>
    </message>
    <message>
        <source>communication thread</source>
        <translation>通信线程</translation>
    </message>
    <message>
        <source>copies</source>
        <translation>拷贝</translation>
    </message>
    <message>
        <source>annotations</source>
        <translation>标注</translation>
    </message>
    <message>
        <source>other</source>
        <translation>其他</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>损失</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>反向</translation>
    </message>
    <message>
        <source>warm-up</source>
        <translation>预热</translation>
    </message>
    <message>
        <source>cut</source>
        <translation>被截断</translation>
    </message>
    <message>
        <source>odd</source>
        <translation>异常</translation>
    </message>
    <message>
        <source>rank %1 of %2</source>
        <translation>rank %1（共 %2 个）</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>%1 of %2 ranks</source>
        <translation>%2 个 rank 中的 %1 个</translation>
    </message>
    <message>
        <source>all %1 ranks</source>
        <translation>全部 %1 个 rank</translation>
    </message>
    <message>
        <source>both ranks</source>
        <translation>两个 rank</translation>
    </message>
    <message>
        <source>lost</source>
        <translation>丢失</translation>
    </message>
    <message>
        <source>send to %1</source>
        <translation>发送给 %1</translation>
    </message>
    <message>
        <source>receive from %1</source>
        <translation>从 %1 接收</translation>
    </message>
    <message>
        <source>decoder layer</source>
        <translation>解码器层</translation>
    </message>
    <message>
        <source>stem</source>
        <translation>输入层</translation>
    </message>
    <message>
        <source>head</source>
        <translation>输出层</translation>
    </message>
    <message>
        <source>bottom net</source>
        <translation>底部网络</translation>
    </message>
    <message>
        <source>tables</source>
        <translation>嵌入表</translation>
    </message>
    <message>
        <source>interaction</source>
        <translation>特征交互</translation>
    </message>
    <message>
        <source>top net</source>
        <translation>顶部网络</translation>
    </message>
    <message>
        <source>between steps</source>
        <translation>步之间</translation>
    </message>
    <message>
        <source>detection</source>
        <translation>发现故障</translation>
    </message>
    <message>
        <source>restart</source>
        <translation>重启</translation>
    </message>
    <message>
        <source>save checkpoint</source>
        <translation>保存检查点</translation>
    </message>
    <message>
        <source>load checkpoint</source>
        <translation>加载检查点</translation>
    </message>
    <message>
        <source>check weights</source>
        <translation>核对权重</translation>
    </message>
</context>
<context>
    <name>WallCard</name>
    <message>
        <source>binds</source>
        <translation>起限制作用</translation>
    </message>
    <message>
        <source>binds: %1</source>
        <translation>起限制作用：%1</translation>
    </message>
</context>
<context>
    <name>WaterfallPlot</name>
    <message>
        <source>peak</source>
        <translation>峰值</translation>
    </message>
    <message>
        <source>All the time that the ranks have in one step; at peak FLOP/s this is 100 %.</source>
        <translation>各 rank 在一步内拥有的全部时间；以峰值 FLOP/s 计为 100 %。</translation>
    </message>
    <message>
        <source>step</source>
        <translation>一步</translation>
    </message>
    <message>
        <source>between operators</source>
        <translation>算子之间</translation>
    </message>
    <message>
        <source>The program&apos;s own time: no operator runs, and no device was recorded.</source>
        <translation>程序自身的时间：没有算子运行，也没有记录设备。</translation>
    </message>
    <message>
        <source>operators</source>
        <translation>算子</translation>
    </message>
    <message>
        <source>Operators on the processor. No work of a device is in the trace.</source>
        <translation>处理器上的算子。轨迹中没有设备的工作。</translation>
    </message>
    <message>
        <source>whole trace</source>
        <translation>整个轨迹</translation>
    </message>
    <message>
        <source>All the time that the ranks have in one step.</source>
        <translation>各 rank 在一步中的全部时间。</translation>
    </message>
    <message>
        <source>All the time of the trace: no steps were recognised in it.</source>
        <translation>轨迹的全部时间：其中未识别到步。</translation>
    </message>
</context>
<context>
    <name>WelcomePage</name>
    <message>
        <source>See inside a training step</source>
        <translation>看清训练步的内部</translation>
    </message>
    <message>
        <source>Open a trace</source>
        <translation>打开轨迹文件</translation>
    </message>
    <message>
        <source>Record a training</source>
        <translation>录制训练</translation>
    </message>
    <message>
        <source>Train a network here and record every step (Ctrl+R)</source>
        <translation>在本机训练网络并录制每一步 (Ctrl+R)</translation>
    </message>
    <message>
        <source>Recent files</source>
        <translation>最近文件</translation>
    </message>
    <message>
        <source>Files that you open or record are listed here.</source>
        <translation>打开或录制的文件会列在这里。</translation>
    </message>
    <message>
        <source>Samples, made on this machine</source>
        <translation>示例（在本机生成）</translation>
    </message>
    <message>
        <source>Record a real step or open one that was recorded. Drop traces and profiles anywhere in this window.</source>
        <translation>录制一个真实的训练步，或打开已录制的文件。可将轨迹或性能剖析文件拖到窗口任意位置。</translation>
    </message>
    <message>
        <source>Fourwalls, PyTorch, Chrome, memory snapshot, Nsight (Ctrl+O)</source>
        <translation>Fourwalls、PyTorch、Chrome、内存快照、Nsight (Ctrl+O)</translation>
    </message>
    <message>
        <source>See a demo</source>
        <translation>看演示</translation>
    </message>
    <message>
        <source>Understand one wall in a minute (Ctrl+D)</source>
        <translation>一分钟理解一堵墙（Ctrl+D）</translation>
    </message>
</context>
<context>
    <name>WhatIf</name>
    <message>
        <source>plan from a plot</source>
        <translation>来自图的计划</translation>
    </message>
</context>
<context>
    <name>WhatIfDock</name>
    <message>
        <source>Machines from a file</source>
        <translation>从文件读取机器</translation>
    </message>
    <message>
        <source>Clusters and calibrations (*.json);;All files (*)</source>
        <translation>集群与校准 (*.json);;所有文件 (*)</translation>
    </message>
    <message>
        <source>Save the changed step</source>
        <translation>保存改动后的一步</translation>
    </message>
    <message>
        <source>Traces (*.fourwalls)</source>
        <translation>轨迹 (*.fourwalls)</translation>
    </message>
    <message>
        <source>Replaying the steps</source>
        <translation>正在重放各步</translation>
    </message>
    <message>
        <source>The command is on the clipboard.</source>
        <translation>命令已复制到剪贴板。</translation>
    </message>
</context>
<context>
    <name>WhatIfPanel</name>
    <message>
        <source>Open or record a trace: its plan is where the sliders start.</source>
        <translation>打开或录制一个轨迹：滑块从它的计划开始。</translation>
    </message>
    <message>
        <source>Nothing else fits: the other values are kept or the network does not divide.</source>
        <translation>没有其他可行值：其他值被保持，或网络无法整除。</translation>
    </message>
    <message numerus="yes">
        <source>%n value(s) are not in the trace itself</source>
        <translation>
            <numerusform>%n 个值不在轨迹中</numerusform>
        </translation>
    </message>
    <message>
        <source>as recorded</source>
        <translation>与录制一致</translation>
    </message>
    <message>
        <source>Run this plan with the embedded engine on this machine and compare it with the prediction</source>
        <translation>用内置引擎在本机运行此计划并与预测比较</translation>
    </message>
    <message>
        <source>framework</source>
        <translation>框架</translation>
    </message>
    <message>
        <source>Devices</source>
        <translation>设备数</translation>
    </message>
    <message>
        <source>Data parallel</source>
        <translation>数据并行</translation>
    </message>
    <message>
        <source>Tensor parallel</source>
        <translation>张量并行</translation>
    </message>
    <message>
        <source>Pipeline stages</source>
        <translation>流水级数</translation>
    </message>
    <message>
        <source>Context parallel</source>
        <translation>上下文并行</translation>
    </message>
    <message>
        <source>Expert parallel</source>
        <translation>专家并行</translation>
    </message>
    <message>
        <source>Global batch</source>
        <translation>全局批量</translation>
    </message>
    <message>
        <source>Micro-batches</source>
        <translation>微批次数</translation>
    </message>
    <message>
        <source>Micro-batch size</source>
        <translation>微批次大小</translation>
    </message>
    <message>
        <source>Sequence</source>
        <translation>序列长度</translation>
    </message>
    <message>
        <source>ZeRO stage</source>
        <translation>ZeRO 阶段</translation>
    </message>
    <message>
        <source>Chunks per stage</source>
        <translation>每级块数</translation>
    </message>
    <message>
        <source>Link in the node</source>
        <translation>节点内链路</translation>
    </message>
    <message>
        <source>Network adapter</source>
        <translation>网卡</translation>
    </message>
    <message>
        <source>Devices = data x tensor x pipeline x context parallel. Expert parallelism lies inside data x context.</source>
        <translation>设备数 = 数据 x 张量 x 流水线 x 上下文并行。专家并行位于数据 x 上下文之内。</translation>
    </message>
    <message>
        <source>Replicas that see different samples. Gradients are reduced once per step: a ring sends 2(n-1)/n of them per rank.</source>
        <translation>处理不同样本的副本。每步归约一次梯度：环形时每 rank 发送其 2(n-1)/n。</translation>
    </message>
    <message>
        <source>Ranks that share every layer&apos;s matrices. Activations are reduced twice per layer and pass: keep it inside a node.</source>
        <translation>共享每层矩阵的 rank。每层每次通过归约激活两次：应放在节点内。</translation>
    </message>
    <message>
        <source>Stages that share out the layers. The bubble of p stages and m micro-batches is (p-1)/(m+p-1) of the pipeline&apos;s window for 1F1B.</source>
        <translation>分担各层的流水级。1F1B 下 p 级、m 个微批次的气泡为流水线窗口的 (p-1)/(m+p-1)。</translation>
    </message>
    <message>
        <source>Ranks that share out each sequence; keys and values go round.</source>
        <translation>分担每个序列的 rank；键和值循环传递。</translation>
    </message>
    <message>
        <source>Ranks that share out the experts; tokens travel by all-to-all.</source>
        <translation>分担专家的 rank；token 通过 all-to-all 传递。</translation>
    </message>
    <message>
        <source>Samples per step over all ranks = data parallel x micro-batches x micro-batch size.</source>
        <translation>所有 rank 每步样本数 = 数据并行 x 微批次数 x 微批次大小。</translation>
    </message>
    <message>
        <source>Passes per step and replica, whose gradients are accumulated: more of them, smaller bubble.</source>
        <translation>每步每副本的通过次数，梯度累积：越多气泡越小。</translation>
    </message>
    <message>
        <source>Samples in one pass: larger ones use the device better and keep more activations.</source>
        <translation>一次通过的样本数：越大设备利用越好，保留的激活越多。</translation>
    </message>
    <message>
        <source>Tokens per sample. Attention&apos;s work grows with its square.</source>
        <translation>每样本 token 数。注意力的计算量随其平方增长。</translation>
    </message>
    <message>
        <source>What data-parallel ranks share out instead of each holding it: 1 optimizer states, 2 also gradients, 3 also weights, which are gathered layer by layer.</source>
        <translation>数据并行 rank 分担而不各自保存的内容：1 优化器状态，2 加梯度，3 再加权重（逐层收集）。</translation>
    </message>
    <message>
        <source>Virtual stages per rank (interleaved): the bubble shrinks to (p-1)/(vm+p-1), messages are v times as many.</source>
        <translation>每 rank 的虚拟流水级（交错）：气泡缩小到 (p-1)/(vm+p-1)，消息数为 v 倍。</translation>
    </message>
    <message>
        <source>Rate of one device towards the others of its node, one direction.</source>
        <translation>单设备到同节点其他设备的速率，单向。</translation>
    </message>
    <message>
        <source>Rate of one network adapter, one direction.</source>
        <translation>单块网卡的速率，单向。</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>优化器</translation>
    </message>
    <message>
        <source>Keep the optimizer&apos;s states in the host&apos;s memory and update there.</source>
        <translation>将优化器状态放在主机内存中并在那里更新。</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>激活</translation>
    </message>
    <message>
        <source>Copy activations to the host after forward and back before backward.</source>
        <translation>前向后将激活拷贝到主机，反向前再拷回。</translation>
    </message>
    <message>
        <source>parameters</source>
        <translation>参数</translation>
    </message>
    <message>
        <source>Keep weights in the host&apos;s memory and fetch each layer&apos;s before its pass.</source>
        <translation>将权重放在主机内存中，每层使用前取回。</translation>
    </message>
    <message>
        <source>Overlap</source>
        <translation>重叠</translation>
    </message>
    <message>
        <source>Communicate beside computation where the framework can.</source>
        <translation>在框架允许处让通信与计算并行。</translation>
    </message>
    <message>
        <source>Fusion</source>
        <translation>融合</translation>
    </message>
    <message>
        <source>Several small operators in one kernel: less memory traffic, fewer launches.</source>
        <translation>多个小算子合为一个内核：更少访存，更少启动。</translation>
    </message>
    <message>
        <source>Fused attention</source>
        <translation>融合注意力</translation>
    </message>
    <message>
        <source>Scores, softmax and values in one kernel, without the scores in memory.</source>
        <translation>得分、softmax 与值在一个内核中完成，得分不写入内存。</translation>
    </message>
    <message>
        <source>Seq. parallel</source>
        <translation>序列并行</translation>
    </message>
    <message>
        <source>Sequence parallelism: tensor-parallel ranks also share out norms and dropouts along the sequence, which saves activations.</source>
        <translation>序列并行：张量并行 rank 还沿序列分担归一化与 dropout，从而节省激活。</translation>
    </message>
    <message>
        <source>What if</source>
        <translation>假设</translation>
    </message>
    <message>
        <source>Network</source>
        <translation>网络</translation>
    </message>
    <message>
        <source>Machines</source>
        <translation>机器</translation>
    </message>
    <message>
        <source>Framework</source>
        <translation>框架</translation>
    </message>
    <message>
        <source>Schedule</source>
        <translation>调度</translation>
    </message>
    <message>
        <source>Recompute</source>
        <translation>重计算</translation>
    </message>
    <message>
        <source>Precision</source>
        <translation>精度</translation>
    </message>
    <message>
        <source>To the host</source>
        <translation>卸载到主机</translation>
    </message>
    <message>
        <source>The network&apos;s architecture, as a preset</source>
        <translation>网络架构（预设）</translation>
    </message>
    <message>
        <source>What fuses, overlaps and keeps what: a named, versioned preset</source>
        <translation>融合、重叠与保留的方式：具名且带版本的预设</translation>
    </message>
    <message>
        <source>In which order a stage works on micro-batches; only with a pipeline.</source>
        <translation>流水级处理微批次的顺序；仅在有流水线时。</translation>
    </message>
    <message>
        <source>Of weights, activations and matrix products.</source>
        <translation>权重、激活与矩阵乘的精度。</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>撤销</translation>
    </message>
    <message>
        <source>Undo the last change of the sliders</source>
        <translation>撤销滑块的上一次更改</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>重做</translation>
    </message>
    <message>
        <source>Redo the change of the sliders</source>
        <translation>重做滑块的更改</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>关闭</translation>
    </message>
    <message>
        <source>Hide the sliders</source>
        <translation>隐藏滑块</translation>
    </message>
    <message>
        <source>As recorded</source>
        <translation>恢复录制值</translation>
    </message>
    <message>
        <source>Set everything to what was recorded</source>
        <translation>全部设为录制值</translation>
    </message>
    <message>
        <source>Record this now</source>
        <translation>立即录制</translation>
    </message>
    <message>
        <source>Copy command</source>
        <translation>复制命令</translation>
    </message>
    <message>
        <source>Command that predicts this plan</source>
        <translation>预测此计划的命令</translation>
    </message>
    <message>
        <source>Command that records this plan</source>
        <translation>录制此计划的命令</translation>
    </message>
    <message>
        <source>Start from these</source>
        <translation>由此开始</translation>
    </message>
    <message>
        <source>From a file…</source>
        <translation>来自文件…</translation>
    </message>
    <message>
        <source>Devices, nodes and links: a preset, or a file such as &apos;fourwalls-cli calibrate&apos; writes</source>
        <translation>设备、节点和链路：预设，或“fourwalls-cli calibrate”写出的文件</translation>
    </message>
    <message>
        <source>Choose a network and machines to start from.</source>
        <translation>请选择起始的网络和机器。</translation>
    </message>
    <message>
        <source>choose…</source>
        <translation>请选择…</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>%1：%2</translation>
    </message>
    <message>
        <source>%1 %2 → %3</source>
        <translation>%1 %2 → %3</translation>
    </message>
    <message>
        <source>Moved along: %1</source>
        <translation>一并改变：%1</translation>
    </message>
    <message>
        <source>by stage</source>
        <translation>逐级</translation>
    </message>
    <message numerus="yes">
        <source>%n modules</source>
        <translation>
            <numerusform>%n 个模块</numerusform>
        </translation>
    </message>
    <message>
        <source>Drop activations after forward and compute them again in backward: none, those of the attention core, all inside a layer or, where the framework is told names, those of the modules with a mark.</source>
        <translation>前向后丢弃激活，反向时再算一遍：不丢弃、只丢弃注意力核心的、丢弃层内全部的，或者（在框架接受模块名时）丢弃带勾模块的。</translation>
    </message>
    <message>
        <source>Documents</source>
        <translation>文档</translation>
    </message>
    <message>
        <source>Lengths of the documents that sequences are packed with, which attention stays within: one, or several with how often each comes, as in 6x512,3x2048,8192.</source>
        <translation>拼接成序列的文档的长度，注意力只在文档内部计算：可以是一个长度，也可以是几个长度，各带出现的次数，例如 6x512,3x2048,8192。</translation>
    </message>
</context>
<context>
    <name>WindowActions</name>
    <message>
        <source>&amp;Open a trace…</source>
        <translation>打开轨迹文件(&amp;O)…</translation>
    </message>
    <message>
        <source>Open a &amp;folder of profiles…</source>
        <translation>打开性能剖析文件夹(&amp;F)…</translation>
    </message>
    <message>
        <source>&amp;Record a training…</source>
        <translation>录制训练(&amp;R)…</translation>
    </message>
    <message>
        <source>Recent files</source>
        <translation>最近文件</translation>
    </message>
    <message>
        <source>Clear recent files</source>
        <translation>清除最近文件</translation>
    </message>
    <message>
        <source>What was dropped or repaired…</source>
        <translation>丢弃或修复了什么…</translation>
    </message>
    <message>
        <source>Choose &amp;steps…</source>
        <translation>选择步(&amp;S)…</translation>
    </message>
    <message>
        <source>Add a memory snapshot…</source>
        <translation>添加内存快照…</translation>
    </message>
    <message>
        <source>&amp;Close this trace</source>
        <translation>关闭此轨迹(&amp;C)</translation>
    </message>
    <message>
        <source>Next trace</source>
        <translation>下一个轨迹</translation>
    </message>
    <message>
        <source>Previous trace</source>
        <translation>上一个轨迹</translation>
    </message>
    <message>
        <source>What if: show the sliders</source>
        <translation>假设：显示滑块</translation>
    </message>
    <message>
        <source>What if: undo</source>
        <translation>假设：撤销</translation>
    </message>
    <message>
        <source>What if: redo</source>
        <translation>假设：重做</translation>
    </message>
    <message>
        <source>What if: as recorded</source>
        <translation>假设：恢复为录制值</translation>
    </message>
    <message>
        <source>What if: record this plan…</source>
        <translation>假设：录制此计划…</translation>
    </message>
    <message>
        <source>What if: copy the command that predicts</source>
        <translation>假设：复制预测命令</translation>
    </message>
    <message>
        <source>What if: copy the command that records</source>
        <translation>假设：复制录制命令</translation>
    </message>
    <message>
        <source>View</source>
        <translation>视图</translation>
    </message>
    <message>
        <source>Memory in GiB (powers of two)</source>
        <translation>内存以 GiB 显示（二进制）</translation>
    </message>
    <message>
        <source>Full screen</source>
        <translation>全屏</translation>
    </message>
    <message>
        <source>Add a &amp;bookmark…</source>
        <translation>添加书签(&amp;B)…</translation>
    </message>
    <message>
        <source>Bookmarks and &amp;notes…</source>
        <translation>书签与笔记(&amp;N)…</translation>
    </message>
    <message>
        <source>Share and export</source>
        <translation>共享与导出</translation>
    </message>
    <message>
        <source>Copy the command that opens this view</source>
        <translation>复制打开此视图的命令</translation>
    </message>
    <message>
        <source>Report as a page…</source>
        <translation>生成报告页面…</translation>
    </message>
    <message>
        <source>Save what is seen as a trace…</source>
        <translation>将所见部分存为轨迹…</translation>
    </message>
    <message>
        <source>&amp;Export view as picture…</source>
        <translation>将视图导出为图片(&amp;E)…</translation>
    </message>
    <message>
        <source>Export &amp;table as CSV…</source>
        <translation>将表格导出为 CSV(&amp;T)…</translation>
    </message>
    <message>
        <source>Copy table as CSV</source>
        <translation>将表格复制为 CSV</translation>
    </message>
    <message>
        <source>Export the trace…</source>
        <translation>导出轨迹…</translation>
    </message>
    <message>
        <source>Merge files of one run…</source>
        <translation>合并同一次运行的文件…</translation>
    </message>
    <message>
        <source>Learn rates from this trace…</source>
        <translation>从此轨迹学习速率…</translation>
    </message>
    <message>
        <source>&amp;Print the view…</source>
        <translation>打印视图(&amp;P)…</translation>
    </message>
    <message>
        <source>&amp;Find anything…</source>
        <translation>查找任何内容(&amp;F)…</translation>
    </message>
    <message>
        <source>Main menu</source>
        <translation>主菜单</translation>
    </message>
    <message>
        <source>Switch between light and dark</source>
        <translation>切换浅色与深色主题</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Keep imported traces beside their source</source>
        <translation>将导入的轨迹保存在源文件旁</translation>
    </message>
    <message>
        <source>Reopen the last traces at start</source>
        <translation>启动时重新打开上次的轨迹</translation>
    </message>
    <message>
        <source>&amp;Shortcuts…</source>
        <translation>快捷键(&amp;S)…</translation>
    </message>
    <message>
        <source>&amp;Manual</source>
        <translation>手册(&amp;M)</translation>
    </message>
    <message>
        <source>&amp;About Fourwalls</source>
        <translation>关于 Fourwalls(&amp;A)</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
    </message>
    <message>
        <source>Open a demo file…</source>
        <translation>打开演示文件…</translation>
    </message>
    <message>
        <source>Demo: next step</source>
        <translation>演示：下一步</translation>
    </message>
    <message>
        <source>Demo: step before</source>
        <translation>演示：上一步</translation>
    </message>
    <message>
        <source>Demo: show the answer</source>
        <translation>演示：显示答案</translation>
    </message>
    <message>
        <source>Demo: end</source>
        <translation>演示：结束</translation>
    </message>
    <message>
        <source>Go to %1</source>
        <translation>转到%1</translation>
    </message>
    <message>
        <source>Measure this machine&apos;s rates…</source>
        <translation>测量本机的速率…</translation>
    </message>
    <message>
        <source>Set mark %1 here</source>
        <translation>在此处设标记 %1</translation>
    </message>
    <message>
        <source>Go to mark %1</source>
        <translation>转到标记 %1</translation>
    </message>
</context>
<context>
    <name>WindowFinder</name>
    <message>
        <source>open</source>
        <translation>已打开</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
</context>
<context>
    <name>Words</name>
    <message>
        <source>micro-batch %1</source>
        <translation>微批次 %1</translation>
    </message>
    <message>
        <source>goes on where the next recorded step begins</source>
        <translation>在下一个已记录的步开始处继续</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>stage %1</source>
        <translation>流水级 %1</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::CommunicationView</name>
    <message>
        <source>Communication</source>
        <translation>通信</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::CompareView</name>
    <message>
        <source>Compare</source>
        <translation>比较</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::FindingsView</name>
    <message>
        <source>Findings</source>
        <translation>发现</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::MemoryView</name>
    <message>
        <source>Memory</source>
        <translation>内存</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::OverviewView</name>
    <message>
        <source>Overview</source>
        <translation>概览</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::PerformanceView</name>
    <message>
        <source>Performance</source>
        <translation>性能</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::PipelineView</name>
    <message>
        <source>Pipeline</source>
        <translation>流水线</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::SliceFacts</name>
    <message>
        <source>operation</source>
        <translation>操作</translation>
    </message>
    <message>
        <source>waited</source>
        <translation>等待</translation>
    </message>
    <message>
        <source>transfer</source>
        <translation>传输</translation>
    </message>
    <message>
        <source>payload</source>
        <translation>有效载荷</translation>
    </message>
    <message>
        <source>wire</source>
        <translation>线上字节</translation>
    </message>
    <message>
        <source>algbw</source>
        <translation>算法带宽</translation>
    </message>
    <message>
        <source>group</source>
        <translation>组</translation>
    </message>
    <message numerus="yes">
        <source>%1, %n ranks, no. %2</source>
        <translation>
            <numerusform>%1，%n 个 rank，第 %2 次</numerusform>
        </translation>
    </message>
    <message>
        <source>transport</source>
        <translation>传输方式</translation>
    </message>
    <message>
        <source>peer</source>
        <translation>对端</translation>
    </message>
    <message>
        <source>rank %1</source>
        <translation>rank %1</translation>
    </message>
    <message>
        <source>algorithm</source>
        <translation>算法</translation>
    </message>
    <message>
        <source>unknown operator</source>
        <translation>未知算子</translation>
    </message>
    <message>
        <source>layer %1</source>
        <translation>第 %1 层</translation>
    </message>
    <message>
        <source>micro-batch %1</source>
        <translation>微批次 %1</translation>
    </message>
    <message>
        <source>duration</source>
        <translation>时长</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>种类</translation>
    </message>
    <message>
        <source>starts</source>
        <translation>开始</translation>
    </message>
    <message>
        <source>%1 into step %2</source>
        <translation>第 %2 步开始后 %1</translation>
    </message>
    <message>
        <source>%1 into the trace</source>
        <translation>轨迹开始后 %1</translation>
    </message>
    <message>
        <source>work</source>
        <translation>工作量</translation>
    </message>
    <message>
        <source>%1 (%2 of peak)</source>
        <translation>%1（峰值的 %2）</translation>
    </message>
    <message>
        <source>achieved</source>
        <translation>实际达到</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>内存</translation>
    </message>
    <message>
        <source>bandwidth</source>
        <translation>带宽</translation>
    </message>
    <message>
        <source>intensity</source>
        <translation>计算强度</translation>
    </message>
    <message>
        <source>correlation</source>
        <translation>关联号</translation>
    </message>
    <message>
        <source>not in the trace, only the request</source>
        <translation>不在轨迹中，只有请求</translation>
    </message>
    <message>
        <source>wait + transfer</source>
        <translation>等待 + 传输</translation>
    </message>
    <message>
        <source>%1 (named %2)</source>
        <translation>%1（名为 %2）</translation>
    </message>
    <message>
        <source>%1, no. %2</source>
        <translation>%1，第 %2 个</translation>
    </message>
    <message>
        <source>in the trace</source>
        <translation>在轨迹中</translation>
    </message>
    <message>
        <source>%1 of its %2 ranks</source>
        <translation>其 %2 个 rank 中的 %1 个</translation>
    </message>
    <message numerus="yes">
        <source>%n more</source>
        <translation>
            <numerusform>还有 %n 个</numerusform>
        </translation>
    </message>
    <message>
        <source>%1 on %2</source>
        <translation>%2 上的 %1</translation>
    </message>
    <message>
        <source>, %1 before</source>
        <translation>，%1 之前</translation>
    </message>
    <message>
        <source>launched by</source>
        <translation>启动者</translation>
    </message>
    <message>
        <source>queued</source>
        <translation>排队</translation>
    </message>
    <message>
        <source>called from</source>
        <translation>调用自</translation>
    </message>
    <message>
        <source>%1 on %2, %3 later</source>
        <translation>%2 上的 %1，%3 之后</translation>
    </message>
    <message>
        <source>from %1 on %2</source>
        <translation>来自 %2 上的 %1</translation>
    </message>
    <message>
        <source>leads to</source>
        <translation>引出</translation>
    </message>
    <message>
        <source>in</source>
        <translation>位于</translation>
    </message>
    <message>
        <source>stack</source>
        <translation>调用栈</translation>
    </message>
    <message numerus="yes">
        <source>longest of %n inside</source>
        <translation>
            <numerusform>内含 %n 个，最长的</numerusform>
        </translation>
    </message>
    <message>
        <source>members</source>
        <translation>成员</translation>
    </message>
    <message>
        <source>rank %1 came last, by %2</source>
        <translation>rank %1 最后到达，晚 %2</translation>
    </message>
    <message>
        <source>rank %1 +%2</source>
        <translation>rank %1 +%2</translation>
    </message>
    <message>
        <source>%1 (median %2: %3 times)</source>
        <translation>%1（中位数 %2 的 %3 倍）</translation>
    </message>
    <message>
        <source>self</source>
        <translation>自身</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>%1 / %2</translation>
    </message>
    <message>
        <source>memory then</source>
        <translation>当时的内存</translation>
    </message>
    <message>
        <source>%1 of %2 of its name here</source>
        <translation>此处同名的第 %1 个，共 %2 个</translation>
    </message>
    <message>
        <source>empty before</source>
        <translation>之前空闲</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::StepsView</name>
    <message>
        <source>Steps</source>
        <translation>训练步</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::TablesView</name>
    <message>
        <source>Tables</source>
        <translation>表格</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::TimelineView</name>
    <message>
        <source>Timeline</source>
        <translation>时间线</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::TuningView</name>
    <message>
        <source>Tuning</source>
        <translation>调优</translation>
    </message>
</context>
</TS>
