<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="zh_CN">
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
    <name>CommandPalette</name>
    <message>
        <source>Commands</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Type the name of a command</source>
        <translation>输入命令名称</translation>
    </message>
    <message>
        <source>Command</source>
        <translation>命令</translation>
    </message>
    <message>
        <source>Matching commands</source>
        <translation>匹配的命令</translation>
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
        <source>Click a slice for its details, double-click to zoom to it, drag with Ctrl to measure.</source>
        <translation>单击切片查看详情，双击放大到该切片，按住 Ctrl 拖动可测量。</translation>
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
        <source>Search or run a command</source>
        <translation>搜索或运行命令</translation>
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
        <translation>请先打开一个跟踪文件</translation>
    </message>
    <message>
        <source>&amp;Open a trace…</source>
        <translation>打开跟踪文件(&amp;O)…</translation>
    </message>
    <message>
        <source>&amp;Record a training…</source>
        <translation>录制训练(&amp;R)…</translation>
    </message>
    <message>
        <source>&amp;Close this trace</source>
        <translation>关闭此跟踪(&amp;C)</translation>
    </message>
    <message>
        <source>Next trace</source>
        <translation>下一个跟踪</translation>
    </message>
    <message>
        <source>Previous trace</source>
        <translation>上一个跟踪</translation>
    </message>
    <message>
        <source>Clear recent files</source>
        <translation>清除最近文件</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>退出(&amp;Q)</translation>
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
        <source>Switch between light and dark</source>
        <translation>切换浅色与深色主题</translation>
    </message>
    <message>
        <source>Memory in GiB (powers of two)</source>
        <translation>内存以 GiB 显示（二进制）</translation>
    </message>
    <message>
        <source>Reopen the last traces at start</source>
        <translation>启动时重新打开上次的跟踪</translation>
    </message>
    <message>
        <source>Full screen</source>
        <translation>全屏</translation>
    </message>
    <message>
        <source>Run a command…</source>
        <translation>运行命令…</translation>
    </message>
    <message>
        <source>Main menu</source>
        <translation>主菜单</translation>
    </message>
    <message>
        <source>&amp;Shortcuts…</source>
        <translation>快捷键(&amp;S)…</translation>
    </message>
    <message>
        <source>&amp;About Fourwalls</source>
        <translation>关于 Fourwalls(&amp;A)</translation>
    </message>
    <message>
        <source>Go to %1</source>
        <translation>转到%1</translation>
    </message>
    <message>
        <source>Recent files</source>
        <translation>最近文件</translation>
    </message>
    <message>
        <source>View</source>
        <translation>视图</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>语言</translation>
    </message>
    <message>
        <source>Open a trace</source>
        <translation>打开跟踪文件</translation>
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
        <source>Written: %1</source>
        <translation>已写入：%1</translation>
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
        <source>What was dropped or repaired…</source>
        <translation>丢弃或修复了什么…</translation>
    </message>
    <message>
        <source>Keep imported traces beside their source</source>
        <translation>将导入的跟踪保存在源文件旁</translation>
    </message>
    <message>
        <source>Traces and profiles (*.fourwalls *.json *.json.gz *.gz *.pickle *.pkl *.sqlite *.db);;Fourwalls traces (*.fourwalls);;All files (*)</source>
        <translation>跟踪与性能剖析文件 (*.fourwalls *.json *.json.gz *.gz *.pickle *.pkl *.sqlite *.db);;Fourwalls 跟踪 (*.fourwalls);;所有文件 (*)</translation>
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
    <name>MemoryGroups</name>
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
</context>
<context>
    <name>MemoryView</name>
    <message>
        <source>The memory of this trace could not be read. %1</source>
        <translation>无法读取此跟踪的内存数据。%1</translation>
    </message>
    <message>
        <source>Open or record a trace to see its memory.</source>
        <translation>打开或录制一个跟踪即可查看内存。</translation>
    </message>
    <message>
        <source>This trace has no allocations, so there is no memory curve.
Traces recorded by Fourwalls have them; when recording with PyTorch, switch on profile_memory.</source>
        <translation>此跟踪没有内存分配记录，因此没有内存曲线。
Fourwalls 录制的跟踪都含有分配记录；用 PyTorch 录制时，请打开 profile_memory。</translation>
    </message>
    <message>
        <source>Rank %1 has no allocations in this trace.
Choose another rank on the timeline.</source>
        <translation>rank %1 在此跟踪中没有内存分配。
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
        <source>%1 more than allocated</source>
        <translation>比已分配多 %1</translation>
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
        <source>predicted</source>
        <translation>预测</translation>
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
</context>
<context>
    <name>MessagePage</name>
    <message>
        <source>What to try: %1</source>
        <translation>可以尝试：%1</translation>
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
        <translation>跟踪文件 (*.fourwalls)</translation>
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
    <name>StatusStrip</name>
    <message>
        <source>complete</source>
        <translation>完整</translation>
    </message>
    <message>
        <source>The recording was finished in order.</source>
        <translation>录制正常结束。</translation>
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
</context>
<context>
    <name>StepPart</name>
    <message>
        <source>compute</source>
        <translation>计算</translation>
    </message>
    <message>
        <source>exposed communication</source>
        <translation>未重叠通信</translation>
    </message>
    <message>
        <source>exposed copies</source>
        <translation>未重叠拷贝</translation>
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
        <source>Step %1 · %2 · warm-up</source>
        <translation>第 %1 步 · %2 · 预热</translation>
    </message>
    <message>
        <source>Step %1 · %2</source>
        <translation>第 %1 步 · %2</translation>
    </message>
</context>
<context>
    <name>StepsModel</name>
    <message>
        <source>%1 (warm-up)</source>
        <translation>%1（预热）</translation>
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
        <source>Training</source>
        <translation>训练</translation>
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
        <source>warm-up, not measured</source>
        <translation>预热，不计入</translation>
    </message>
    <message>
        <source>median</source>
        <translation>中位数</translation>
    </message>
    <message>
        <source>Step time</source>
        <translation>步时间</translation>
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
        <source>no tokens recorded</source>
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
        <translation>无法读取此跟踪的训练步。%1</translation>
    </message>
    <message>
        <source>Open or record a trace to see its steps.</source>
        <translation>打开或录制一个跟踪即可查看训练步。</translation>
    </message>
    <message>
        <source>This trace marks no training steps on rank %1.
Traces recorded by Fourwalls have them; in PyTorch, call the profiler&apos;s step() after every iteration.</source>
        <translation>此跟踪在 rank %1 上没有标记训练步。
Fourwalls 录制的跟踪都有标记；在 PyTorch 中，请在每次迭代后调用 profiler 的 step()。</translation>
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
        <source>%1 · %2 · warm-up</source>
        <translation>%1 · %2 · 预热</translation>
    </message>
    <message>
        <source>%1 · %2</source>
        <translation>%1 · %2</translation>
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
</context>
<context>
    <name>TimelineView</name>
    <message>
        <source>No trace is open.
Open a .fourwalls file, drop one onto the window, or record a run to see its timeline.</source>
        <translation>没有打开的跟踪。
打开一个 .fourwalls 文件、将文件拖到窗口上，或录制一次运行，即可查看时间线。</translation>
    </message>
    <message>
        <source>Opening %1 …</source>
        <translation>正在打开 %1…</translation>
    </message>
    <message>
        <source>This trace has no slices: nothing was recorded on any track.
Its counters and allocations are in the other views. Record without --no-trace to get a timeline.</source>
        <translation>此跟踪没有切片：任何轨道上都没有记录。
计数器和内存分配在其他视图中。不带 --no-trace 录制即可得到时间线。</translation>
    </message>
    <message>
        <source>The trace could not be read.
%1</source>
        <translation>无法读取跟踪。
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
        <source>Measure</source>
        <translation>测量</translation>
    </message>
    <message>
        <source>Clear selection and measurement</source>
        <translation>清除选择和测量</translation>
    </message>
    <message>
        <source>Pin or unpin the selected slice&apos;s track</source>
        <translation>固定或取消固定所选切片的轨道</translation>
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
        <source>Show the selected slice, the measured range or everything (F)</source>
        <translation>显示所选切片、测量范围或全部 (F)</translation>
    </message>
    <message>
        <source>Drag to measure a range; Ctrl with the mouse does it too (M)</source>
        <translation>拖动以测量范围；按住 Ctrl 拖动也可以 (M)</translation>
    </message>
    <message>
        <source>F: fit · M: measure · W A S D: move</source>
        <translation>F：适应 · M：测量 · W A S D：移动</translation>
    </message>
    <message>
        <source>counting…</source>
        <translation>正在统计…</translation>
    </message>
    <message>
        <source>rank %1 · %2</source>
        <translation>rank %1 · %2</translation>
    </message>
    <message>
        <source>%1
%2 busy (%3) · %4 slices</source>
        <translation>%1
忙碌 %2 (%3) · %4 个切片</translation>
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
</context>
<context>
    <name>WelcomePage</name>
    <message>
        <source>See inside a training step</source>
        <translation>看清训练步的内部</translation>
    </message>
    <message>
        <source>Open a trace</source>
        <translation>打开跟踪文件</translation>
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
        <translation>录制一个真实的训练步，或打开已录制的文件。可将跟踪或性能剖析文件拖到窗口任意位置。</translation>
    </message>
    <message>
        <source>Fourwalls, PyTorch, Chrome, memory snapshot, Nsight (Ctrl+O)</source>
        <translation>Fourwalls、PyTorch、Chrome、内存快照、Nsight (Ctrl+O)</translation>
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
        <translation>跟踪开始后 %1</translation>
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
</context>
<context>
    <name>fourwalls::views::StepsView</name>
    <message>
        <source>Steps</source>
        <translation>训练步</translation>
    </message>
</context>
<context>
    <name>fourwalls::views::TimelineView</name>
    <message>
        <source>Timeline</source>
        <translation>时间线</translation>
    </message>
</context>
</TS>
