(() => {
  const tip = document.getElementById("tip");
  const hide = () => { tip.hidden = true; };
  const show = (event) => {
    const place = event.target.closest ? event.target.closest("[data-t]") : null;
    if (!place) return hide();
    tip.textContent = place.getAttribute("data-t");
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(event.clientX + 12, 4), innerWidth - box.width - 4);
    const above = event.clientY - box.height - 12;
    tip.style.transform = `translate(${Math.max(left, 4)}px, ${above < 4 ? event.clientY + 18 : above}px)`;
  };
  document.addEventListener("pointermove", show);
  document.addEventListener("pointerdown", show);
  document.addEventListener("pointerleave", hide);
  document.addEventListener("scroll", hide, { passive: true });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
})();
