// Draws the page from the JSON in it; run_page_data.h describes its fields.

const DATA = JSON.parse(document.getElementById('data').textContent);
const RUNS = DATA.runs.map((run, color) => ({...run, color}));
// The part of the address after '#': x=images&samples=1500.
const STATE = new URLSearchParams(location.hash.slice(1));

function duration(seconds) {
  if (!isNumber(seconds)) return '-';
  if (seconds < 120) return `${short(seconds)} s`;
  return seconds < 7200 ? `${short(seconds / 60)} min` : `${short(seconds / 3600)} h`;
}

const LONGEST = Math.max(0, ...RUNS.map((run) => run.seconds || 0));
const [UNIT, UNIT_NAME] = LONGEST < 120 ? [1, 'seconds'] :
    LONGEST < 7200 ? [60, 'minutes'] : [3600, 'hours'];
const AXES = {
  round: {label: 'rounds', of: (columns) => columns.round || [], ticks: short,
          full: (x) => `${Math.round(x)} rounds`},
  images: {label: 'images that the discriminator has seen',
           of: (columns) => columns.images || [], ticks: short,
           full: (x) => `${short(x)} images`},
  seconds: {label: `${UNIT_NAME} of training`,
            of: (columns) => (columns.seconds || []).map((s) => s / UNIT), ticks: short,
            full: (x) => duration(x * UNIT)},
};
const axis = () => AXES[STATE.get('x')] || AXES.round;

function remember(name, value) {
  STATE.set(name, value);
  location.replace(`#${STATE}`);
}

function section(id, title, ...content) {
  return html('section', {id}, html('h2', {}, title), ...content);
}
function charts(...figures) {
  return html('div', {class: 'charts'}, figures.flat());
}
function table(head, rows) {
  return html('div', {class: 'scroll'}, html('table', {},
      html('thead', {}, html('tr', {}, head.map((name) => html('th', {}, name)))),
      html('tbody', {}, rows.map((row) => html('tr', {}, row.map(
          (cell) => cell instanceof Node ? html('td', {}, cell) :
              html('td', {}, String(cell))))))));
}
function nameOf(run) {
  return html('span', {class: `color${run.color % 8}`}, run.name);
}

// Positions on the axis where repeated rounds begin.
function restartsOf() {
  return RUNS.flatMap((run) => run.epochs.slice(1).map((epoch) => {
    const columns = run.roles.discriminator;
    let i = columns.round.findIndex((round) => round >= epoch.first_round);
    if (i < 0) i = columns.round.length - 1;
    return {x: axis().of(columns)[i], color: run.color};
  }));
}

// A chart of one column of a role, a line for each run.
function columnChart(title, role, column, options = {}) {
  const series = RUNS.filter((run) => run.roles[role]).map((run) => {
    const columns = run.roles[role];
    return {name: run.name, color: run.color, xs: axis().of(columns), ys: columns[column],
            lows: columns[`${column}_low`], highs: columns[`${column}_high`]};
  });
  return lineChart({title, series, axis: axis(), restarts: restartsOf(), ...options});
}

function overview() {
  const figure = (run) => {
    const curve = run.curves[0];
    if (!curve) return 'not evaluated yet';
    const best = curve.round.indexOf(curve.best_round);
    return `${curve.metric} ${short(curve.value[best])} at round ${curve.best_round}`;
  };
  const speed = (run) => run.report.roles.find((r) => r.role === 'discriminator');
  return section('overview', 'Runs', table(
      ['run', 'rounds', 'images', 'training time', 'images/s', 'best', 'run epochs'],
      RUNS.map((run) => [
        nameOf(run), `${run.rounds_done} of ${run.rounds_wanted}`, short(run.images),
        duration(run.seconds), short(speed(run).images_per_second), figure(run),
        run.epochs.length])));
}

function samples() {
  const rounds = [...new Set(RUNS.flatMap((run) => run.samples.map((s) => s.round)))]
      .sort((a, b) => a - b);
  if (rounds.length === 0) {
    return section('samples', 'Samples',
        html('p', {class: 'quiet'}, 'No grids are written yet; samples.every_rounds of ' +
             'the recipe sets the interval.'));
  }
  const wanted = Number(STATE.get('samples') ?? rounds[rounds.length - 1]);
  const at = Math.max(0, rounds.findLastIndex((round) => round <= wanted));
  const slider = html('input', {type: 'range', min: 0, max: rounds.length - 1, step: 1,
                                'aria-label': 'round of the samples'});
  slider.value = at;
  const label = html('output');
  const places = RUNS.filter((run) => run.samples.length > 0).map((run) => (
      {run, caption: html('small'), picture: html('img', {alt: `samples of ${run.name}`})}));
  const show = () => {
    const round = rounds[slider.value];
    label.textContent = `round ${round}`;
    for (const {run, caption, picture} of places) {
      const sample = run.samples.findLast((s) => s.round <= round) || run.samples[0];
      picture.src = sample.picture;
      caption.textContent = ` round ${sample.round}, ${short(sample.images)} images, ` +
          duration(sample.seconds);
    }
  };
  slider.addEventListener('input', show);
  slider.addEventListener('change', () => remember('samples', rounds[slider.value]));
  show();
  return section('samples', 'Samples',
      rounds.length > 1 ? html('div', {class: 'slider'}, slider, label) : null,
      html('div', {class: 'pictures'}, places.map((place) => html('figure', {},
          html('figcaption', {}, nameOf(place.run), place.caption), place.picture))));
}

// A chart for each metric and setting, with the curves of all runs.
function quality() {
  const groups = new Map();
  for (const run of RUNS) {
    for (const curve of run.curves) {
      if (!groups.has(curve.setting)) groups.set(curve.setting, []);
      groups.get(curve.setting).push({run, curve});
    }
  }
  if (groups.size === 0) {
    return section('quality', 'Quality', html('p', {class: 'quiet'},
        'No checkpoint is evaluated yet; run gandem evaluate RUN --every_checkpoint.'));
  }
  return section('quality', 'Quality', charts([...groups.values()].map((group) => {
    const {metric, about, lower_is_better} = group[0].curve;
    return lineChart({
      title: metric, axis: axis(),
      about: `${lower_is_better ? 'lower' : 'higher'} is better; ${about}; bars: 2 sd`,
      series: group.map(({run, curve}) => ({
        name: run.name, color: run.color, dots: true, xs: axis().of(curve),
        ys: curve.value, sds: curve.sd, best: curve.round.indexOf(curve.best_round),
        falls: lower_is_better,
        show: (i) => short(curve.value[i]) +
            (isNumber(curve.sd[i]) ? ` \u00b1 ${short(curve.sd[i])}` : ''),
      })),
    });
  })));
}

function adaCharts() {
  const augmented = RUNS.filter((run) => run.roles.discriminator &&
                                         run.roles.discriminator.ada_p.some(isNumber));
  if (augmented.length === 0) return [];
  const series = augmented.flatMap((run) => [
    ['p', 'ada_p', false], ['mean sign', 'ada_r_t', true],
  ].map(([what, column, dashed]) => ({
    name: `${run.name}, ${what}`, dashed,
    color: RUNS.length === 1 && dashed ? 1 : run.color,
    xs: axis().of(run.roles.discriminator), ys: run.roles.discriminator[column]})));
  return [lineChart({title: 'Adaptive augmentation', axis: axis(), series,
                     about: 'p; dashed: mean sign of the logits on real images',
                     restarts: restartsOf()})];
}

function losses() {
  const logits = RUNS.filter((run) => run.roles.discriminator).flatMap((run) => [
    ['real', 'logit_real', false], ['generated', 'logit_generated', true],
  ].map(([what, column, dashed]) => ({
    name: `${run.name}, ${what}`, dashed,
    // A single run may use a second color.
    color: RUNS.length === 1 && dashed ? 1 : run.color,
    xs: axis().of(run.roles.discriminator), ys: run.roles.discriminator[column]})));
  return section('losses', 'Losses', charts(
      columnChart('Loss of the discriminator', 'discriminator', 'loss',
                  {about: 'mean and range of the rounds of a point'}),
      columnChart('Loss of the generator', 'generator', 'loss',
                  {about: 'mean and range of the rounds of a point'}),
      lineChart({title: 'Logits of the discriminator', axis: axis(), series: logits,
                 about: 'generated images: dashed', restarts: restartsOf()}),
      ...adaCharts()));
}

const PARTS = [['computation', 'share_compute', 0], ['wait for images', 'share_images', 1],
               ['wait for feedback', 'share_feedback', 3],
               ['wait for real images', 'share_data', 4],
               ['wait for space in the cache', 'share_cache', 6],
               ['communication', 'share_sync', 5]];

function shares() {
  const figures = RUNS.flatMap((run) => Object.entries(run.roles).map(([role, columns]) =>
    shareChart({
      title: `${run.name}: ${role}`, axis: axis(), xs: axis().of(columns),
      layers: PARTS.map(([name, column, color]) => ({name, color, ys: columns[column]})),
    })));
  return section('shares', 'Use of time', charts(figures));
}

function lag() {
  return section('lag', 'Lag', charts(
      columnChart('Lag of the generator', 'generator', 'lag',
                  {about: 'age of the critic in rounds', from0: true}),
      columnChart('Lag of the discriminator', 'discriminator', 'lag',
                  {about: 'age of the generated images in rounds', from0: true})));
}

function pipeline() {
  return section('pipeline', 'Pipeline', charts(
      columnChart('Images/s of the discriminator', 'discriminator', 'images_per_second',
                  {from0: true}),
      columnChart('Prefetched real images', 'discriminator', 'waiting_images',
                  {from0: true}),
      columnChart('Cache of generated images', 'discriminator', 'cache_fill',
                  {about: 'fraction of its size', from0: true})));
}

function restarts() {
  const rows = RUNS.flatMap((run) => run.epochs.slice(1).map((epoch) => [
    nameOf(run), epoch.run_epoch, epoch.first_round, epoch.rounds_done_again,
    duration(epoch.gap_seconds)]));
  return section('restarts', 'Restarts', rows.length === 0 ?
      html('p', {class: 'quiet'}, 'None: every run has a single run epoch.') :
      table(['run', 'run epoch', 'began at round', 'repeated rounds', 'time without records'],
            rows));
}

// The values of a recipe by full field name ("generator.network.dcgan.width").
function fieldsOf(recipe) {
  const fields = new Map(), path = [];
  for (const line of recipe.split('\n')) {
    const text = line.trim();
    if (text.endsWith('{')) path.push(text.slice(0, -1).trim());
    else if (text === '}') path.pop();
    else if (text !== '') {
      const colon = text.indexOf(':');
      const name = [...path, text.slice(0, colon)].join('.');
      const value = text.slice(colon + 1).trim();
      fields.set(name, fields.has(name) ? `${fields.get(name)}, ${value}` : value);
    }
  }
  return fields;
}

function differences() {
  const all = RUNS.map((run) => fieldsOf(run.recipe));
  const names = [...new Set(all.flatMap((fields) => [...fields.keys()]))].filter(
      (name) => new Set(all.map((fields) => fields.get(name))).size > 1);
  return names.length === 0 ? html('p', {class: 'quiet'}, 'All recipes are the same.') :
      table(['field', ...RUNS.map(nameOf)],
            names.map((name) => [name, ...all.map((fields) => fields.get(name) ?? '-')]));
}

function recipes() {
  return section('recipe', 'Recipe', RUNS.length > 1 ? differences() : null,
      RUNS.map((run) => html('details', {}, html('summary', {}, 'all of ', nameOf(run)),
                             html('pre', {}, run.recipe))));
}

function notes() {
  const rows = RUNS.flatMap((run) => run.notes.map((note) => [nameOf(run), note]));
  return rows.length === 0 ? null : section('notes', 'Notes', table(['run', 'note'], rows));
}

function draw() {
  const main = document.getElementById('page');
  main.replaceChildren(...[overview(), samples(), quality(), losses(), shares(), lag(),
                           pipeline(), restarts(), recipes(), notes(),
                           html('p', {class: 'quiet'}, `gandem ${DATA.version}`)]
      .filter((part) => part !== null));
  document.body.dataset.drawn = axis().label;
}

function start() {
  document.title = `gandem report: ${RUNS.map((run) => run.name).join(', ')}`;
  document.getElementById('title').textContent =
      RUNS.length === 1 ? RUNS[0].name : `${RUNS.length} runs`;
  if (RUNS.length > 1) document.getElementById('legend').append(legendOf(RUNS));
  for (const name of Object.keys(AXES)) {
    const choice = html('input', {type: 'radio', name: 'x', value: name});
    choice.checked = axis() === AXES[name];
    choice.addEventListener('change', () => { remember('x', name); draw(); });
    document.getElementById('axes').append(html('label', {}, choice,
        name === 'seconds' ? ` ${UNIT_NAME}` : ` ${name === 'round' ? 'rounds' : name}`));
  }
  draw();
}

start();
