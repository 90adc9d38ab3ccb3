"use strict";

const LISTED = 8;

// Shows the prior at the epoch that a slider is set to.
function connect(box) {
  const data = JSON.parse(box.querySelector("script").textContent);
  const input = box.querySelector("input");
  const output = box.querySelector("output");
  const reading = box.querySelector(".reading");
  const likeliest = box.querySelector("ol");
  const cells = Array.from(box.querySelectorAll("rect"));
  const side = data.operations.length;
  let pointed = -1;

  function colour(multiple) {
    const [low, high] = data.limits;
    const share = Math.min(Math.max((multiple - low) / (high - low), 0), 1);
    return data.colours[Math.round(share * (data.colours.length - 1))];
  }

  function told(index) {
    const first = data.operations[Math.floor(index / side)];
    const second = data.operations[index % side];
    const multiple = data.thousandths[input.value][index] / 1000;
    return `${first} > ${second}: ${multiple.toFixed(2)} times uniform`;
  }

  function read() {
    if (pointed >= 0) reading.textContent = told(pointed);
  }

  function list(values) {
    const order = Array.from(values.keys()).sort((a, b) => values[b] - values[a]);
    likeliest.replaceChildren(...order.slice(0, LISTED).map((index) => {
      const item = document.createElement("li");
      item.textContent = told(index);
      return item;
    }));
  }

  function show() {
    const epoch = data.epochs[input.value];
    const effective = data.effective[input.value];
    output.textContent =
      `after epoch ${epoch}: ${effective} effective policies of ${cells.length}`;
    input.setAttribute("aria-valuetext", `epoch ${epoch}`);
    const values = data.thousandths[input.value];
    values.forEach((value, index) => {
      cells[index].setAttribute("fill", colour(value / 1000));
    });
    list(values);
    read();
  }

  cells.forEach((cell, index) => {
    const point = () => {
      pointed = index;
      read();
    };
    cell.addEventListener("pointerenter", point);
    cell.addEventListener("click", point);
  });
  input.addEventListener("input", show);
  show();
  box.hidden = false;
}

document.querySelectorAll(".slider").forEach(connect);
document.documentElement.dataset.ready = "yes";
