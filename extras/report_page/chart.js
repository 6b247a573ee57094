// SPDX-License-Identifier: Apache-2.0
'use strict';
// Draws charts as SVG and makes the page's elements. All text is inserted as
// text nodes, because names and recipes are untrusted.

const WIDTH = 640, HEIGHT = 270;
const BOX = {left: 58, right: 626, top: 12, bottom: 228};

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null) node.append(child);
  return node;
}
function html(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}
function svg(tag, attributes, ...children) {
  return fill(document.createElementNS('http://www.w3.org/2000/svg', tag),
              attributes, children);
}

// Formats 12345 as 12.3k.
function short(value) {
  if (value === null || value === undefined || !isFinite(value)) return '-';
  const size = Math.abs(value);
  for (const [unit, letter] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (size >= unit) return `${Number((value / unit).toPrecision(3))}${letter}`;
  }
  return String(Number(value.toPrecision(3)));
}

// About `count` ticks at a distance of 1, 2 or 5 times a power of ten.
function ticksOf(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((x) => x * power >= rough * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

const isNumber = (x) => typeof x === 'number' && isFinite(x);

function rangeOf(values) {
  let low = Infinity, high = -Infinity;
  for (const x of values) {
    if (!isNumber(x)) continue;
    low = Math.min(low, x);
    high = Math.max(high, x);
  }
  return low <= high ? [low, high] : [0, 1];
}

function scaleOf([low, high], from, to) {
  const span = high > low ? high - low : 1;
  return (x) => from + (x - low) / span * (to - from);
}

// The path through all points, with gaps at missing ones.
function pathOf(xs, ys, xOf, yOf) {
  let path = '', pen = 'M';
  xs.forEach((x, i) => {
    if (!isNumber(ys[i])) { pen = 'M'; return; }
    path += `${pen}${xOf(x).toFixed(1)} ${yOf(ys[i]).toFixed(1)}`;
    pen = 'L';
  });
  return path;
}

function bandOf(xs, lows, highs, xOf, yOf) {
  const kept = xs.map((_, i) => i).filter((i) => isNumber(lows[i]) && isNumber(highs[i]));
  const point = (i, ys) => `${xOf(xs[i]).toFixed(1)} ${yOf(ys[i]).toFixed(1)}`;
  return kept.length < 2 ? '' : 'M' + [...kept.map((i) => point(i, highs)),
      ...kept.reverse().map((i) => point(i, lows))].join('L') + 'Z';
}

function axesOf(xRange, yRange, xOf, yOf, axis) {
  const group = svg('g');
  for (const y of ticksOf(...yRange, 5)) {
    group.append(
        svg('line', {class: 'grid', x1: BOX.left, x2: BOX.right, y1: yOf(y), y2: yOf(y)}),
        svg('text', {x: BOX.left - 6, y: yOf(y) + 4, 'text-anchor': 'end'}, short(y)));
  }
  for (const x of ticksOf(...xRange, 7)) {
    group.append(svg('text', {x: xOf(x), y: BOX.bottom + 17, 'text-anchor': 'middle'},
                     axis.ticks(x)));
  }
  group.append(svg('text', {x: (BOX.left + BOX.right) / 2, y: HEIGHT - 6,
                            'text-anchor': 'middle'}, axis.label));
  return group;
}

function legendOf(items) {
  return html('div', {class: 'legend'}, items.map(
      (item) => html('span', {class: `color${item.color % 8}`}, item.name)));
}

// Shows the values of all series that are nearest to the pointer.
function follow(figure, picture, series, xOf, axis) {
  const cursor = svg('line', {class: 'cursor', y1: BOX.top, y2: BOX.bottom});
  const tip = html('div', {class: 'tip', hidden: ''});
  picture.append(cursor);
  figure.append(tip);
  const hide = () => { tip.hidden = true; cursor.style.visibility = 'hidden'; };
  picture.addEventListener('pointerleave', hide);
  picture.addEventListener('pointermove', (event) => {
    const place = picture.getBoundingClientRect();
    const at = (event.clientX - place.left) / place.width * WIDTH;
    const near = series.filter((s) => s.xs.length > 0).map((s) => {
      let best = 0;
      s.xs.forEach((x, i) => {
        if (Math.abs(xOf(x) - at) < Math.abs(xOf(s.xs[best]) - at)) best = i;
      });
      return {series: s, i: best};
    });
    if (near.length === 0) return;
    const x = near[0].series.xs[near[0].i];
    cursor.setAttribute('x1', xOf(x));
    cursor.setAttribute('x2', xOf(x));
    cursor.style.visibility = 'visible';
    tip.replaceChildren(html('div', {class: 'quiet'}, axis.full(x)), ...near.map(
        ({series: s, i}) => html('div', {class: `color${s.color % 8}`},
                                 `${s.name}: ${s.show ? s.show(i) : short(s.ys[i])}`)));
    tip.hidden = false;
    const left = event.clientX - figure.getBoundingClientRect().left;
    tip.style.left = left > figure.clientWidth / 2 ? '' : `${left + 14}px`;
    tip.style.right = left > figure.clientWidth / 2 ?
        `${figure.clientWidth - left + 14}px` : '';
    tip.style.top = '48px';
  });
}

function drawSeries(s, xOf, yOf, isAlone) {
  const group = svg('g', {class: `series color${s.color % 8}`});
  if (s.lows) {
    group.append(svg('path', {class: 'band', d: bandOf(s.xs, s.lows, s.highs, xOf, yOf)}));
  }
  group.append(svg('path', {class: s.dashed ? 'line dashed' : 'line',
                            d: pathOf(s.xs, s.ys, xOf, yOf)}));
  if (!s.dots) return group;
  s.xs.forEach((x, i) => {
    if (!isNumber(s.ys[i])) return;
    const spread = 2 * (s.sds[i] || 0);
    if (spread > 0) {
      group.append(svg('line', {class: 'spread', x1: xOf(x), x2: xOf(x),
                                y1: yOf(s.ys[i] - spread), y2: yOf(s.ys[i] + spread)}));
    }
    group.append(svg('circle', {class: 'dot', cx: xOf(x), cy: yOf(s.ys[i]), r: 3.5}));
    if (i !== s.best) return;
    // Beyond an extreme, where no line can cross the text.
    group.append(svg('circle', {class: 'best', cx: xOf(x), cy: yOf(s.ys[i]), r: 8}));
    if (!isAlone) return;
    group.append(
        svg('text', {class: 'bestname', x: Math.min(xOf(x), BOX.right - 34),
                     y: yOf(s.ys[i]) + (s.falls ? 22 : -13), 'text-anchor': 'middle'},
            `best: ${short(s.ys[i])}`));
  });
  return group;
}

// options: title, about; axis {label, ticks(x), full(x)}; series [{name, color,
// xs, ys, lows, highs, dashed, dots, sds, best, falls, show(i)}]; restarts
// [{x, color}]; from0: y begins at 0.
function lineChart(options) {
  const {series, axis} = options;
  const xRange = rangeOf([0, ...series.flatMap((s) => s.xs)]);
  const reach = (s) => s.ys.flatMap(
      (y, i) => isNumber(y) && s.sds ? [y - 2 * (s.sds[i] || 0), y + 2 * (s.sds[i] || 0)] : [y]);
  let yRange = rangeOf(series.flatMap(reach));
  if (options.from0) yRange = [Math.min(0, yRange[0]), yRange[1] || 1];
  const margin = (yRange[1] - yRange[0] || Math.abs(yRange[1]) || 1) *
      (series.some((s) => s.dots) ? 0.14 : 0.06);
  yRange = [options.from0 && yRange[0] === 0 ? 0 : yRange[0] - margin, yRange[1] + margin];
  const xOf = scaleOf(xRange, BOX.left, BOX.right);
  const plain = scaleOf(yRange, BOX.bottom, BOX.top);
  // Bands may reach beyond the lines.
  const yOf = (y) => Math.min(BOX.bottom, Math.max(BOX.top, plain(y)));
  const picture = svg('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img',
                              'aria-label': options.title},
                      axesOf(xRange, yRange, xOf, yOf, axis));
  for (const restart of options.restarts || []) {
    picture.append(svg('line', {class: `restart color${restart.color % 8}`,
        x1: xOf(restart.x), x2: xOf(restart.x), y1: BOX.top, y2: BOX.bottom}));
  }
  for (const s of series) picture.append(drawSeries(s, xOf, yOf, series.length === 1));
  const figure = html('figure', {class: 'chart'}, html('figcaption', {}, options.title,
      options.about ? html('small', {}, ` ${options.about}`) : null));
  if (series.length > 1) figure.append(legendOf(series));
  figure.append(picture);
  follow(figure, picture, series, xOf, axis);
  return figure;
}

// Stacked shares that add up to 1: layers [{name, color, ys}].
function shareChart({title, about, axis, xs, layers}) {
  const xRange = rangeOf([0, ...xs]);
  const xOf = scaleOf(xRange, BOX.left, BOX.right);
  const yOf = scaleOf([0, 1], BOX.bottom, BOX.top);
  const picture = svg('svg', {viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img',
                              'aria-label': title});
  let below = xs.map(() => 0);
  for (const layer of layers) {
    const above = below.map((y, i) => y + Math.max(0, layer.ys[i] || 0));
    picture.append(svg('g', {class: `series color${layer.color % 8}`},
        svg('path', {class: 'layer', d: bandOf(xs, below, above, xOf, yOf)})));
    below = above;
  }
  const percent = (y) => `${(100 * (y || 0)).toFixed(1)} %`;
  picture.prepend(axesOf(xRange, [0, 1], xOf, yOf, axis));
  const figure = html('figure', {class: 'chart'},
      html('figcaption', {}, title, about ? html('small', {}, ` ${about}`) : null),
      legendOf(layers), picture);
  follow(figure, picture, layers.map((layer) => (
      {...layer, xs, show: (i) => percent(layer.ys[i])})), xOf, axis);
  return figure;
}
